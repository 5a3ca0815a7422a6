"""Skills, their files, and directories of resources (the extension `io.modelcontextprotocol/skills`)."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from mcpfleet.protocol.messages.resources import Resource


class SkillResource(Struct, frozen=True, kw_only=True):
    """A file of a skill, and what a host verifies it by; `size` is in bytes."""

    uri: str
    digest: str
    size: int


class Skill(Struct, frozen=True, kw_only=True):
    """A skill as a client sees it: the URI of its `SKILL.md`, that file's frontmatter as JSON, and every file."""

    uri: str
    frontmatter: dict[str, Any]
    resources: Sequence[SkillResource]


class ListSkillsResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of skills; `next_cursor` is absent on the last."""

    skills: Sequence[Skill]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class GetSkillResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One skill, as it is listed."""

    skill: Skill
    meta: dict[str, Any] | None = field(default=None, name="_meta")


class ReadDirectoryResult(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One page of what is right below a directory; `next_cursor` is absent on the last."""

    resources: Sequence[Resource]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(default=None, name="_meta")
