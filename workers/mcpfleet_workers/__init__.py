"""The background tier of mcpfleet."""
