"""What a server offers, by name and in order."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.messages.resources import Resource
from mcpfleet.server.catalog import Catalog, fingerprint
from mcpfleet.server.completion import Completer, Of
from mcpfleet.server.dynamic import Lister
from mcpfleet.server.method import CustomMethod
from mcpfleet.server.notification import CustomNotification
from mcpfleet.server.prompt import Prompt
from mcpfleet.server.resource import Reading, ServedResource, ServedTemplate
from mcpfleet.server.skill import ServedSkill, SkillFile
from mcpfleet.server.taskoptions import DEFAULT_QUEUE
from mcpfleet.server.tool import Tool


class Registry:
    """The catalogs of one server, one of each kind."""

    __slots__ = (
        "completers",
        "listers",
        "methods",
        "notifications",
        "prompts",
        "readers",
        "resources",
        "skills",
        "templates",
        "tools",
    )

    def __init__(self) -> None:
        self.tools: Catalog[Tool] = Catalog("tool", lambda one: one.name, _told)
        self.prompts: Catalog[Prompt] = Catalog("prompt", lambda one: one.name, _told)
        self.resources: Catalog[ServedResource] = Catalog("resource", lambda one: one.definition.uri, _told)
        self.templates: Catalog[ServedTemplate] = Catalog("template", lambda one: one.template.text, _told)
        self.completers: Catalog[Completer] = Catalog("completion", lambda one: one.key, lambda one: one.key)
        self.listers: Catalog[Lister] = Catalog("list", lambda one: one.callee.function, _nothing)
        """Functions that list resources and templates."""
        self.methods: Catalog[CustomMethod] = Catalog("method", lambda one: one.name, _nothing)
        """Methods of the author's own."""
        self.notifications: Catalog[CustomNotification] = Catalog("notification", lambda one: one.name, _nothing)
        """Notifications of the author's own."""
        self.readers: Catalog[Reading] = Catalog("reader", lambda one: one.callee.function, _nothing)
        """Functions that read what no resource and no template has."""
        self.skills: Catalog[ServedSkill] = Catalog("skill", lambda one: one.definition.uri, _told)

    @property
    def makes_tasks(self) -> bool:
        """Whether a call of any tool may become a task."""
        return any(tool.task for tool in self.tools)

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that the tasks of its tools wait in, the default one first."""
        named = {tool.task.queue for tool in self.tools if tool.task}
        return tuple(sorted(named, key=lambda name: (name != DEFAULT_QUEUE, name)))

    def template(self, uri: str) -> ServedTemplate | None:
        """The template that is this text, or else the first that this URI matches."""
        exact = self.templates.get(uri)
        if exact is not None:
            return exact
        return next((one for one in self.templates if one.template.match(uri) is not None), None)

    def skill_file(self, uri: str) -> SkillFile | None:
        """The file of a skill that has this URI."""
        return next((skill.files[uri] for skill in self.skills if uri in skill.files), None)

    def skill_directory(self, uri: str) -> Sequence[Resource] | None:
        """What is right below the directory of a skill that has this URI."""
        return next((skill.directories[uri] for skill in self.skills if uri in skill.directories), None)

    def completer(self, of: Of, name: str, argument: str) -> Completer | None:
        """What completes an argument of a prompt or template: its own completer, else the one for all of them."""
        return self.completers.get((of, name, argument)) or self.completers.get((of, name, None))

    def add_skills(self, skills: Sequence[ServedSkill]) -> None:
        """Add all of these, or none; `RegistrationError` if one is, holds or lies in a skill that is there already."""
        self._check_apart(skills)
        for skill in skills:
            self.skills.add(skill)

    def _check_apart(self, skills: Sequence[ServedSkill]) -> None:
        """What a skill holds is listed with it, so nothing may come into its directory later."""
        for skill in skills:
            for other in self.skills:
                if skill.touches(other):
                    uris = f"{skill.definition.uri} and {other.definition.uri}"
                    raise RegistrationError(f"{uris} are one skill, or one lies in the other")

    def include(self, other: "Registry", prefix: str = "") -> None:
        """Add everything that the other registry holds now, each name after the prefix; all of it, or nothing.

        URIs have no prefix: they stay what links and the functions behind them say. Skills are named in their files.
        """
        self._check_apart(other.skills.listed)
        additions: list[tuple[Catalog[Any], Sequence[Any]]] = [
            (self.tools, [one.renamed(prefix + one.name) for one in other.tools]),
            (self.prompts, [one.renamed(prefix + one.name) for one in other.prompts]),
            (self.resources, [one.renamed(prefix + one.definition.name) for one in other.resources]),
            (self.templates, [one.renamed(prefix + one.definition.name) for one in other.templates]),
            (self.completers, [_prefixed(one, prefix) for one in other.completers]),
            (self.methods, [one.renamed(prefix + one.name) for one in other.methods]),
            (self.notifications, [one.renamed(prefix + one.name) for one in other.notifications]),
            (self.listers, other.listers.listed),
            (self.readers, other.readers.listed),
            (self.skills, other.skills.listed),
        ]
        taken = [str(key) for catalog, items in additions for key in catalog.taken(items)]
        if taken:
            raise RegistrationError(f"registered already: {', '.join(taken)}")
        for catalog, items in additions:
            for item in items:
                catalog.add(item)

    def without(self, items: Iterable[tuple[str, str]]) -> "Registry":
        """The same without these, each named by its kind ("tool", "prompt", "resource", "template") and its key."""
        keys = frozenset(items)
        rest = copy.copy(self)
        rest.tools = self.tools.without({key for kind, key in keys if kind == "tool"})
        rest.prompts = self.prompts.without({key for kind, key in keys if kind == "prompt"})
        rest.resources = self.resources.without({key for kind, key in keys if kind == "resource"})
        rest.templates = self.templates.without({key for kind, key in keys if kind == "template"})
        return rest

    def has(self, kind: str, key: str) -> bool:
        """Whether there is such a tool, prompt, resource or template."""
        catalogs = self._catalogs
        return kind in catalogs and catalogs[kind].get(key) is not None

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """The kind and the key of every tool, prompt, resource and template."""
        return frozenset((kind, key) for kind, catalog in self._catalogs.items() for key in catalog.keys)

    @property
    def _catalogs(self) -> Mapping[str, Catalog[Any]]:
        return {
            "tool": self.tools,
            "prompt": self.prompts,
            "resource": self.resources,
            "template": self.templates,
        }

    @property
    def state(self) -> tuple[object, ...]:
        """Equal as long as nothing is registered."""
        return self.tools.listed, self.prompts.listed, self.resources.listed, self.templates.listed

    def __bool__(self) -> bool:
        """Whether anything is registered."""
        offered = (self.tools, self.prompts, self.resources, self.templates, self.listers, self.readers, self.methods)
        return any(offered) or bool(self.notifications or self.skills)

    @property
    def digest(self) -> str:
        """A fingerprint of all that clients are told, the order included: the same in every process of one version."""
        catalogs = (self.tools, self.prompts, self.resources, self.templates, self.completers, self.skills)
        return fingerprint([catalog.digest for catalog in catalogs])


def _prefixed(completer: Completer, prefix: str) -> Completer:
    return completer.renamed(prefix + completer.name) if completer.of == "prompt" else completer


def _told(item: Any) -> Any:
    return item.definition


def _nothing(_item: object) -> None:
    """Nothing is told of a function; only what it does is seen."""
