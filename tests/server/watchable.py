"""A server of which everything can be watched."""

from mcpfleet import Server


def watchable() -> Server:
    """A server with a tool, a prompt and a template, so that it declares all by which a client watches something."""
    server = Server("watchable", version="1")
    for register in (server.tool, server.prompt, server.resource("stars://{name}")):
        register(star)
    return server


def star(name: str) -> str:
    """Tell of a star."""
    return name
