"""Something to be examined."""

from mcpfleet import Server, ToolAnnotations

server = Server("examined", version="1.2.3")


@server.tool(task="optional")
def transfer() -> None:
    """Must not be done twice."""


@server.tool(task="optional", annotations=ToolAnnotations(read_only_hint=True))
def look() -> None:
    """May be done as often as one likes."""


@server.prompt
def ask() -> str:
    """A prompt."""
    return "Well?"
