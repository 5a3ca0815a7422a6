"""What a server offers, by name and in order."""

from mcpfleet.errors import RegistrationError
from mcpfleet.server.catalog import Catalog, fingerprint
from mcpfleet.server.tool import Tool


class Registry:
    """The catalogs of one server, one of each kind."""

    __slots__ = ("tools",)

    def __init__(self) -> None:
        self.tools: Catalog[Tool] = Catalog("tool", lambda tool: tool.name, lambda tool: tool.definition)

    def include(self, other: "Registry", prefix: str = "") -> None:
        """Add everything that the other registry holds now, each name after the prefix; all of it, or nothing."""
        tools = [tool.renamed(prefix + tool.name) if prefix else tool for tool in other.tools]
        taken = self.tools.taken(tools)
        if taken:
            raise RegistrationError(f"registered already: {', '.join(taken)}")
        for tool in tools:
            self.tools.add(tool)

    @property
    def digest(self) -> str:
        """A fingerprint of all that clients are told, the order included: the same in every process of one version."""
        return fingerprint([self.tools.digest])
