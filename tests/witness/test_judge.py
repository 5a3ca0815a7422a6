"""By which revision and method a message is judged, which nobody tells the judge."""

import json
from typing import Any

import pytest

from tests.witness.judge import Judge

ENVELOPE = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
STRUCTURED: dict[str, Any] = {"content": [], "structuredContent": {}}
MODERN_RESULT: dict[str, Any] = {"content": [], "resultType": "complete"}


class Notes:
    """What was noted of some channels, and what the judge has found in it."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._judge = Judge()

    def note(self, channel: str, **what: Any) -> None:
        self.found += self._judge.faults({"channel": channel, **what})

    def opened(self, channel: str, kind: str = "http", session: str | None = None, version: str | None = None) -> None:
        self.note(channel, kind=kind, session=session, version=version)

    def asked(self, channel: str, method: str, as_id: Any = 1, params: Any = None) -> None:
        self.note(channel, heard=json.dumps({"id": as_id, "method": method, "params": params or {}}), last=True)

    def answered(self, channel: str, media_type: str = "application/json", begins: str | None = None) -> None:
        self.note(channel, media_type=media_type, begins=begins)

    def said(self, channel: str, as_id: Any = 1, **outcome: Any) -> None:
        self.note(channel, said=json.dumps({"jsonrpc": "2.0", "id": as_id, **outcome}), last=True)

    def event(self, channel: str, **message: Any) -> None:
        self.note(channel, said=f"data: {json.dumps({'jsonrpc': '2.0', **message})}\n\n", last=False)

    def shaken(self, session: str, date: str) -> None:
        """A handshake that begins a session."""
        self.opened("hello")
        self.asked("hello", "initialize")
        self.answered("hello", begins=session)
        self.said("hello", result=handshake(date))


def handshake(date: str) -> dict[str, Any]:
    return {"protocolVersion": date, "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}


@pytest.mark.parametrize("date", ["2025-03-26", "2025-06-18"])
def test_a_session_is_in_the_revision_of_its_handshake_whoever_serves_it(date: str) -> None:
    notes = Notes()
    notes.shaken("s", date)
    notes.opened("elsewhere", session="s")
    notes.asked("elsewhere", "tools/call")
    notes.answered("elsewhere")
    notes.said("elsewhere", result=STRUCTURED)
    assert [fault[:26] for fault in notes.found] == (["2025-03-26 has no structur"] if date == "2025-03-26" else [])


def test_a_request_with_an_envelope_is_in_the_revision_that_it_claims() -> None:
    notes = Notes()
    for as_id, result in enumerate([MODERN_RESULT, STRUCTURED]):
        notes.opened(str(as_id))
        notes.asked(str(as_id), "tools/call", as_id, ENVELOPE)
        notes.answered(str(as_id))
        notes.said(str(as_id), as_id, result=result)
    [fault] = notes.found
    assert "resultType" in fault


@pytest.mark.parametrize(("version", "faults"), [("2025-06-18", 0), ("2025-03-26", 1), (None, 1), ("nonsense", 1)])
def test_without_a_session_the_header_names_the_revision(version: str | None, faults: int) -> None:
    notes = Notes()
    notes.opened("x", version=version)
    notes.asked("x", "tools/call")
    notes.answered("x")
    notes.said("x", result=STRUCTURED)
    assert len(notes.found) == faults


def test_a_stream_that_is_taken_up_again_answers_what_the_session_asked_before() -> None:
    notes = Notes()
    notes.shaken("s", "2025-06-18")
    notes.opened("first", session="s")
    notes.asked("first", "prompts/get", 7)
    notes.opened("again", session="s")
    notes.answered("again", "text/event-stream")
    notes.event("again", id=7, result={"messages": []})
    assert notes.found == []
    notes.event("again", id=7, result={"content": []})
    notes.event("again", id=8, result={"messages": []})
    assert len(notes.found) == 2
    assert "this answers nobody" in notes.found[1]


def test_the_oldest_transport_is_in_the_oldest_revision_until_it_shakes_hands() -> None:
    notes = Notes()
    progress = {"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1, "message": "x"}}
    notes.opened("stream")
    notes.answered("stream", "text/event-stream")
    notes.note("stream", said="event: endpoint\ndata: /messages?session_id=s\n\n", last=False)
    notes.event("stream", **progress)
    assert len(notes.found) == 1
    notes.opened("post", session="s")
    notes.asked("post", "initialize", "hello")
    notes.event("stream", id="hello", result=handshake("2025-03-26"))
    notes.event("stream", **progress)
    assert len(notes.found) == 1


def test_one_connection_of_lines_may_hold_both_eras() -> None:
    notes = Notes()
    notes.opened("c", "lines")
    notes.asked("c", "initialize", 1)
    notes.said("c", 1, result=handshake("2025-03-26"))
    notes.asked("c", "tools/call", 2)
    notes.asked("c", "tools/call", 3, ENVELOPE)
    notes.said("c", 3, result=MODERN_RESULT)
    notes.said("c", 2, result={"content": []})
    assert notes.found == []
    notes.said("c", 2, result=MODERN_RESULT)
    assert len(notes.found) == 1


def test_pieces_are_put_together() -> None:
    notes = Notes()
    notes.opened("x")
    for data, last in (('{"id": 1, "method":', False), ('"ping"}', True)):
        notes.note("x", heard=data, last=last)
    notes.answered("x")
    for data, last in (('[{"jsonrpc": "2.0", "id": 1,', False), ('"result": {}}]', True)):
        notes.note("x", said=data, last=last)
    assert notes.found == []


@pytest.mark.parametrize("said", ["no", "[]", "7", "{}", '{"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}'])
def test_what_is_no_message_is_found(said: str) -> None:
    notes = Notes()
    notes.opened("x")
    notes.answered("x")
    notes.note("x", said=said, last=True)
    assert len(notes.found) == 1
