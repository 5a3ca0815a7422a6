"""A skill: a directory of files with a `SKILL.md`, as it was read."""

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol import jsontext, media, skills
from mcpfleet.protocol.messages.content import ResourceContents
from mcpfleet.protocol.messages.resources import Resource
from mcpfleet.protocol.messages.skills import Skill, SkillResource
from mcpfleet.protocol.skills import DIRECTORY, MANIFEST, MAX_DESCRIPTION, Segments


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A file of a skill: what clients are told of it, what reading it gives, and what they verify that by."""

    definition: Resource
    contents: ResourceContents
    proof: SkillResource


@dataclass(frozen=True, slots=True)
class ServedSkill:
    """A skill, and all that is in its directory; a file of a skill that is nested in it belongs to both."""

    definition: Skill
    files: Mapping[str, SkillFile]
    """By URI; its `SKILL.md` first, and then in order."""
    directories: Mapping[str, Sequence[Resource]]
    """What is right below each directory, by the directory's URI."""

    @property
    def manifest(self) -> SkillFile:
        """Its `SKILL.md`."""
        return self.files[self.definition.uri]

    def touches(self, other: "ServedSkill") -> bool:
        """Whether one of the two is the other, or lies within it."""
        mine, others = (one.definition.uri.removesuffix(MANIFEST) for one in (self, other))
        return mine.startswith(others) or others.startswith(mine)


def compile_skills(files: Mapping[Segments, bytes], prefix: str = "") -> list[ServedSkill]:
    """Every skill among these files, in order of their paths; `RegistrationError` for one that hosts would not take.

    The `prefix` is a path before that of each.
    """
    above = tuple(prefix.split("/")) if prefix else ()
    if not {"", ".", ".."}.isdisjoint(above):
        raise RegistrationError(f"the prefix {prefix!r} of skills is no path, such as acme/billing")
    placed = {(*above, *path): files[path] for path in sorted(files)}
    said = {path: _frontmatter(path, data) for path, data in placed.items() if path[-1] == MANIFEST}
    made = {path: _file(path, data, said.get(path)) for path, data in placed.items()}
    return [_skill(path, frontmatter, made) for path, frontmatter in said.items()]


def _skill(path: Segments, frontmatter: dict[str, Any], made: Mapping[Segments, SkillFile]) -> ServedSkill:
    """The skill whose `SKILL.md` has this path."""
    root = path[:-1]
    files = {each: file for each, file in made.items() if each[: len(root)] == root}
    ordered = [files[path], *(file for each, file in files.items() if each != path)]
    entry = Skill(uri=skills.uri(path), frontmatter=frontmatter, resources=tuple(file.proof for file in ordered))
    return ServedSkill(entry, {file.definition.uri: file for file in ordered}, _directories(root, files))


def _directories(root: Segments, files: Mapping[Segments, SkillFile]) -> dict[str, list[Resource]]:
    """What is right below the root and each directory in it."""
    found: dict[str, dict[str, Resource]] = {skills.uri(root): {}}
    for path, file in files.items():
        for depth in range(len(root) + 1, len(path)):
            directory = Resource(uri=skills.uri(path[:depth]), name=path[depth - 1], mime_type=DIRECTORY)
            found[skills.uri(path[: depth - 1])].setdefault(directory.uri, directory)
            found.setdefault(directory.uri, {})
        found[skills.uri(path[:-1])][file.definition.uri] = file.definition
    return {uri: [*children.values()] for uri, children in found.items()}


def _file(path: Segments, data: bytes, frontmatter: Mapping[str, Any] | None) -> SkillFile:
    """One file; a `SKILL.md` is called and described as its skill is."""
    uri, told = skills.uri(path), frontmatter or {"name": path[-1]}
    content, mime_type = _content(path[-1], data)
    definition = Resource(
        uri=uri, name=told["name"], description=told.get("description"), mime_type=mime_type, size=len(data)
    )
    proof = SkillResource(uri=uri, digest=skills.digest(data), size=len(data))
    return SkillFile(definition, ResourceContents.of(uri, content, mime_type), proof)


def _content(name: str, data: bytes) -> tuple[str | bytes, str]:
    """What a file holds, and its MIME type: UTF-8 is text, whatever the name tells; scripts have all kinds of types."""
    content = data if b"\0" in data else media.decoded(data, media.TEXT)
    mime_type = media.guess(name)
    return content, media.TEXT if isinstance(content, str) and mime_type == media.BINARY else mime_type


def _frontmatter(path: Segments, data: bytes) -> dict[str, Any]:
    """What a `SKILL.md` says of its skill, if hosts would take it."""
    where = f"the skill {'/'.join(path)}"
    content, _ = _content(MANIFEST, data)
    text = skills.frontmatter(content) if isinstance(content, str) else None
    if text is None:
        raise RegistrationError(f"{where} must be UTF-8, and begin with YAML frontmatter between two lines ---")
    reader = _reader()
    try:
        found: dict[str, Any] = reader.read(text)
        jsontext.dumps(found)
    except ValueError as error:
        raise RegistrationError(f"{where}: {error}") from None
    name, description = found.get("name"), found.get("description")
    if not isinstance(name, str) or not skills.is_name(name):
        raise RegistrationError(f"{where}: its name must be words of a-z and 0-9 with hyphens between, as in pdf-forms")
    if name != path[-2]:
        raise RegistrationError(f"{where}: its name is {name!r}, and must be that of its directory")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= len(description) <= MAX_DESCRIPTION:
        raise RegistrationError(f"{where}: its description must be a text of 1 to {MAX_DESCRIPTION} characters")
    return found


def _reader() -> Any:
    try:
        return importlib.import_module("mcpfleet.server.frontmatter")
    except ModuleNotFoundError:
        raise RegistrationError("skills need PyYAML, which pip install 'mcpfleet[skills]' brings") from None
