"""The engine: from classified requests to tools and back, on whichever process a request lands."""
