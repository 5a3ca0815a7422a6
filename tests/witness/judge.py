"""Whether each message that a server said, as the notes have it, has the shape that its receiver's revision gives it.

Revision and method are worked out as any bystander could: from handshakes, envelopes, headers, and ids.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from mcpfleet.protocol.sse import Decoder
from tests import shapes

Json = dict[str, Any]

OLDEST: Final = "2024-11-05"
ASSUMED: Final = "2025-03-26"
"""What a client means that has no session and names no version (transports, "Protocol Version Header")."""
VERSION: Final = "io.modelcontextprotocol/protocolVersion"


@dataclass(slots=True)
class Known:
    """What was asked, by id, as method and claimed version; and the revision of what claims none."""

    date: str | None = None
    asked: dict[Any, set[tuple[str, str | None]]] = field(default_factory=lambda: defaultdict(set))


@dataclass(slots=True)
class Channel:
    """One HTTP exchange or one connection of lines, so far."""

    session: Known
    own: Known
    lines: bool
    heard: bytearray = field(default_factory=bytearray)
    said: bytearray = field(default_factory=bytearray)
    events: Decoder | None = None

    def ask(self) -> None:
        """Note the requests in what was heard."""
        for message in _messages(self.heard):
            request_id, method, params = (message.get(name) for name in ("id", "method", "params"))
            if isinstance(method, str) and isinstance(request_id, str | int):
                meta = params.get("_meta") if isinstance(params, dict) else None
                claimed = meta.get(VERSION) if isinstance(meta, dict) else None
                asked = (method, claimed if claimed in shapes.LACKS else None)
                self.own.asked[request_id].add(asked)
                self.session.asked[request_id].add(asked)
        self.heard.clear()

    def date(self, claimed: str | None) -> str:
        """The revision of one who claims this one, or none."""
        return claimed or self.session.date or self.own.date or ASSUMED

    def meant(self, message: Json) -> set[tuple[str | None, str]]:
        """By which method and revision a message may have its shape; of no request, by none."""
        if "method" in message:
            claimed = {date for asked in self.own.asked.values() for _, date in asked}
            return {(None, self.date(date)) for date in claimed | ({None} if self.lines or not claimed else set())}
        request_id = message.get("id")
        asked = self.own.asked.get(request_id) or self.session.asked.get(request_id, set())
        return {(method, self.date(claimed)) for method, claimed in asked}


class Judge:
    """Reads notes, in their order, and tells what is wrong with the messages in them."""

    def __init__(self) -> None:
        self._sessions: dict[str, Known] = defaultdict(Known)
        self._channels: dict[str, Channel] = {}

    def faults(self, note: Json) -> Iterator[str]:
        """What is wrong with what is said in this note; each fault in words."""
        name = note["channel"]
        if "kind" in note:
            session = self._sessions[note["session"]] if note["session"] else Known()
            version = note["version"] if note["version"] in shapes.LACKS else None
            self._channels[name] = Channel(session, Known(version), note["kind"] == "lines")
            return
        channel = self._channels[name]
        if "heard" in note:
            channel.heard += note["heard"].encode("latin-1")
            if note["last"]:
                channel.ask()
        elif "said" in note:
            for text in self._texts(channel, note["said"].encode("latin-1"), last=note["last"]):
                yield from self._judge(channel, text)
        else:
            if note["begins"]:
                channel.session = self._sessions[note["begins"]]
            if (note["media_type"] or "").startswith("text/event-stream"):
                channel.events = channel.events or Decoder()

    def _texts(self, channel: Channel, data: bytes, *, last: bool) -> Iterator[bytes]:
        """What must each be a message."""
        if channel.events is not None:
            for event in channel.events.feed(data):
                if event.event == "endpoint" and event.data is not None:
                    channel.session = self._sessions[_session_in(event.data.decode())]
                    channel.session.date = OLDEST
                elif event.data:
                    yield event.data
        elif channel.lines:
            yield data
        else:
            channel.said += data
            if last and channel.said:
                yield bytes(channel.said)

    def _judge(self, channel: Channel, text: bytes) -> Iterator[str]:
        messages = _messages(text)
        if not messages:
            yield f"no message: {text[:1000].decode(errors='replace')}"
        for message in messages:
            try:
                self._check(channel, message)
            except (AssertionError, ValueError, KeyError) as fault:
                yield f"{str(fault)[:2000]}\nin {str(message)[:1000]}"

    def _check(self, channel: Channel, message: Json) -> None:
        if "error" in message:
            return shapes.check(message, ASSUMED)
        meant = channel.meant(message)
        assert meant, "this answers nobody"
        faults: list[AssertionError | ValueError | KeyError] = []
        for method, date in meant:
            try:
                if method == "initialize":
                    date = message["result"]["protocolVersion"]  # noqa: PLW2901 - it is agreed on with this message
                shapes.check(message, date, method)
            except (AssertionError, ValueError, KeyError) as fault:
                faults.append(fault)
            else:
                if method == "initialize":
                    channel.session.date = date
                return None
        raise faults[0]


def _messages(data: bytes | bytearray) -> list[Json]:
    """The messages in a body, if there are any."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return []
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, dict)]


def _session_in(address: str) -> str:
    [session] = parse_qs(urlsplit(address).query)["session_id"]
    return session
