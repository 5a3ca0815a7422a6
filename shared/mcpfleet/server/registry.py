"""What a server offers, by name and in order."""

import hashlib
from collections.abc import Sequence

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.server.tool import Tool


class Registry:
    """Tools by name, listed in the order of their registration."""

    __slots__ = ("_digest", "_listed", "_tools")

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._listed: tuple[Tool, ...] = ()
        self._digest: str | None = None

    def add(self, tool: Tool) -> None:
        """Register a tool; `RegistrationError` if its name is taken."""
        if tool.name in self._tools:
            raise RegistrationError(f"a tool called {tool.name!r} is registered already")
        self._tools[tool.name] = tool
        self._listed = (*self._listed, tool)
        self._digest = None

    def include(self, other: "Registry", prefix: str = "") -> None:
        """Add everything that the other registry holds now, each name after the prefix; all of it, or nothing."""
        tools = [tool.renamed(prefix + tool.name) if prefix else tool for tool in other.tools]
        taken = [tool.name for tool in tools if tool.name in self._tools]
        if taken:
            raise RegistrationError(f"registered already: {', '.join(taken)}")
        for tool in tools:
            self.add(tool)

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    @property
    def tools(self) -> Sequence[Tool]:
        """Every tool, in the order of registration."""
        return self._listed

    @property
    def digest(self) -> str:
        """A fingerprint of all that clients are told, the order included: the same in every process of one version."""
        if self._digest is None:
            text = jsontext.dumps([tool.definition for tool in self._listed])
            self._digest = hashlib.sha256(text).hexdigest()[:32]
        return self._digest
