"""mcpfleet: the MCP application server for Python."""
