"""The HTTP edge of mcpfleet: the FastAPI application and the command line."""
