"""A server for the tests of what tools learn of their requests: extensions, traces."""

from mcpfleet import Context, Server, apps, tracecontext

server = Server("featured", extensions={**apps.EXTENSION, "com.example/feature": {"enabled": True}})


@server.resource("ui://clock")
def dial() -> str:
    """The page that shows the time."""
    return "<html>noon</html>"


@server.tool(meta=apps.linked("ui://clock", older_hosts=True))
def clock(ctx: Context) -> str:
    """Tell the time, by a page where there is one."""
    return "see the page" if apps.supported(ctx.client_capabilities) else "noon"


@server.tool
def trace(ctx: Context) -> dict[str, object]:
    """The trace that the request belongs to, and all that its sender said beside it."""
    return {"carrier": tracecontext.carrier(ctx.meta), "meta": dict(ctx.meta)}
