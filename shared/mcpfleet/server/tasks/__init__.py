"""Durable tasks (the extension `io.modelcontextprotocol/tasks`): kept by a record, woken by an agenda."""
