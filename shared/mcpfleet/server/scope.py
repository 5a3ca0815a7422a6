"""What has come from one server into another, by which its hooks know what they are around there."""

from dataclasses import dataclass

from mcpfleet.server.incoming import Incoming
from mcpfleet.server.registry import Registry


@dataclass(frozen=True, slots=True)
class Scope:
    """The names and URIs of all that a server offered when it was included."""

    tools: frozenset[str]
    prompts: frozenset[str]
    methods: frozenset[str]
    """And notifications."""
    uris: frozenset[str]
    """Of resources and of what is in skills, and the texts of templates."""
    reads: bool
    """Whether a function of it reads what is no resource and no template."""

    @classmethod
    def of(cls, registry: Registry) -> "Scope":
        """All that is registered now."""
        return cls(
            tools=frozenset(one.name for one in registry.tools),
            prompts=frozenset(one.name for one in registry.prompts),
            methods=frozenset(one.name for one in (*registry.methods, *registry.notifications)),
            uris=frozenset(
                (
                    *(one.definition.uri for one in registry.resources),
                    *(one.template.text for one in registry.templates),
                    *(uri for one in registry.skills for uri in (*one.files, *one.directories)),
                )
            ),
            reads=bool(registry.readers),
        )

    def prefixed(self, prefix: str) -> "Scope":
        """The same where each name has a prefix."""
        return Scope(
            tools=frozenset(prefix + name for name in self.tools),
            prompts=frozenset(prefix + name for name in self.prompts),
            methods=frozenset(prefix + name for name in self.methods),
            uris=self.uris,
            reads=self.reads,
        )

    def covers(self, message: Incoming, registry: Registry) -> bool:
        """Whether a message is for something of it, among all that is registered."""
        target = message.target
        if target is None:
            return message.method in self.methods
        if message.method == "tools/call":
            return target in self.tools
        if message.method == "prompts/get":
            return target in self.prompts
        if message.method == "completion/complete" and target in self.prompts:
            return True
        return self._has(target, registry)

    def _has(self, uri: str, registry: Registry) -> bool:
        """Whether a URI, or the text of a template, is one of it."""
        if uri in self.uris:
            return True
        if registry.resources.get(uri) is not None or registry.skill_file(uri) is not None:
            return False
        template = registry.template(uri)
        return self.reads if template is None else template.template.text in self.uris
