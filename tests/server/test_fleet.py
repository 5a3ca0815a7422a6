"""What a user tells the fleet, as it goes into the events log."""

import json
from typing import Any

import pytest

from mcpfleet import Fleet, Principal
from mcpfleet.protocol.jsontext import NotJson
from mcpfleet.server.events import Change
from mcpfleet.server.fleet import Kind


class Published(Fleet):
    """A fleet that keeps what is published."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        super().__init__(self._keep, self._switch)

    async def _keep(self, change: Change) -> None:
        self.changes.append(change)

    async def _switch(self, kind: Kind, name: str, *, on: bool) -> None:
        raise AssertionError("nothing is switched here")


async def test_a_log_message_is_kept_as_clients_will_read_it() -> None:
    fleet = Published()
    await fleet.log("notice", [1, None])
    await fleet.log("error", "x", logger="db", only_for=Principal("ada", "issuer", "app"))
    said, other = fleet.changes
    assert (said.kind, json.loads(said.key), said.owner) == ("logged", {"level": "notice", "data": [1, None]}, None)
    assert json.loads(other.key) == {"level": "error", "data": "x", "logger": "db"}
    assert other.owner == ("issuer", "ada", "app")


async def test_what_could_not_be_read_is_not_logged() -> None:
    fleet = Published()
    level: Any = "loud"
    with pytest.raises(ValueError, match="unknown log level 'loud': one of debug, info"):
        await fleet.log(level, "x")
    with pytest.raises(NotJson):
        await fleet.log("info", object())
    assert fleet.changes == []


async def test_a_page_that_is_done_is_told_to_one_session_and_where_there_is_none_to_nobody() -> None:
    fleet = Published()
    await fleet.complete_elicitation("e-1", "s")
    await fleet.complete_elicitation("e-2", None)
    assert fleet.changes == [Change("completed", "e-1", session="s")]
