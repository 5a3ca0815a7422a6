"""The words of MCP Apps: pages that a host shows for a tool, served as resources (the extension
`io.modelcontextprotocol/ui`).

    server = Server("weather", extensions=apps.EXTENSION)

    @server.resource("ui://weather/dashboard")
    def dashboard() -> str:
        return "<html>…</html>"

    @server.tool(meta=apps.linked("ui://weather/dashboard"))
    def forecast(city: str, ctx: Context) -> str: ...

A tool must say something useful without its page: `supported` tells whether the client would show it.
"""

from collections.abc import Mapping
from typing import Any, Final

NAME: Final = "io.modelcontextprotocol/ui"
MIME_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"
EXTENSION: Final[Mapping[str, dict[str, Any]]] = {NAME: {"mimeTypes": [MIME_TYPE]}}
"""What a server with pages declares among its extensions."""


def linked(uri: str, *, older_hosts: bool = False) -> dict[str, Any]:
    """The `_meta` of a tool whose results the page at this URI shows; raises `ValueError` for another kind of URI.

    `older_hosts`: also in the flat form that hosts looked for before the extension was final.
    """
    if not uri.startswith(SCHEME):
        raise ValueError(f"a page is a resource with a URI such as {SCHEME}weather/dashboard, not {uri!r}")
    return {"ui": {"resourceUri": uri}, **({"ui/resourceUri": uri} if older_hosts else {})}


def supported(capabilities: Mapping[str, Any]) -> bool:
    """Whether a client with these capabilities shows pages."""
    extensions = capabilities.get("extensions")
    declared = extensions.get(NAME) if isinstance(extensions, Mapping) else None
    if not isinstance(declared, Mapping):
        return False
    types = declared.get("mimeTypes")
    return types is None or (isinstance(types, list) and MIME_TYPE in types)
