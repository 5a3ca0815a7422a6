"""The server under load: it adds, asks, tells of changes, and has tasks."""

from mcpfleet import Context, Server, ToolAnnotations, forms

URI = "load://topic"
server = Server("load", version="1.0.0")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool
async def ask(word: str, ctx: Context) -> str:
    """Ask the user for a word, and return both."""
    answer = await ctx.elicit(f"What goes with {word}?", forms.form(word=forms.text()))
    return f"{word} {(answer.content or {}).get('word')}"


@server.tool
async def touch(ctx: Context) -> None:
    """Tell everybody that the resource has changed."""
    await ctx.fleet.notify_resource_updated(URI)


@server.resource(URI)
def topic() -> str:
    """What streams watch."""
    return "topic"


@server.tool(task="required", annotations=ToolAnnotations(idempotent_hint=True))
async def reverse(word: str) -> str:
    """Return a word backwards, as a task."""
    return word[::-1]
