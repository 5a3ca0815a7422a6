"""`skills/list`, `skills/get` and `resources/directory/read`."""

from collections.abc import Mapping, Sequence
from typing import Any

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.messages.resources import Resource
from mcpfleet.protocol.messages.skills import GetSkillResult, ListSkillsResult, ReadDirectoryResult
from mcpfleet.server.catalog import fingerprint
from mcpfleet.server.context import Context
from mcpfleet.server.methods.desk import Desk
from mcpfleet.server.methods.params import text
from mcpfleet.server.outcome import Success


class Skills:
    """Tells of skills; their files are read as resources (the extension `io.modelcontextprotocol/skills`)."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def list(self, params: Mapping[str, Any], context: Context) -> Success:
        """Every skill, with all of its files ("Listing Skills")."""
        catalog = self._desk.registry.skills
        skills = [skill.definition for skill in catalog]
        page, cursor = self._desk.page("skills/list", skills, lambda: catalog.digest, params, context)
        return Success(ListSkillsResult(skills=page, next_cursor=cursor), self._desk.server.cache_hint("skills/list"))

    async def get(self, params: Mapping[str, Any], _context: Context) -> Success:
        """The skill whose `SKILL.md` is at a URI ("Getting a Skill")."""
        uri = text(params, "uri")
        skill = self._desk.registry.skills.get(uri)
        if skill is None:
            raise ProtocolError(INVALID_PARAMS, f"Unknown skill: {uri[:128]}", {"uri": uri})
        return Success(GetSkillResult(skill=skill.definition), self._desk.server.cache_hint("skills/get"))

    async def directory(self, params: Mapping[str, Any], context: Context) -> Success:
        """The files and directories right below a directory of a skill ("Reading Directories")."""
        uri = text(params, "uri")
        found = self._desk.registry.skill_directory(uri)
        if found is None:
            raise ProtocolError(INVALID_PARAMS, f"Not a directory: {uri[:128]}", {"uri": uri})
        page, cursor = self._desk.page("resources/directory/read", found, lambda: _digest(found), params, context)
        return Success(ReadDirectoryResult(resources=page, next_cursor=cursor))


def _digest(directory: Sequence[Resource]) -> str:
    return fingerprint(jsontext.plain(directory))
