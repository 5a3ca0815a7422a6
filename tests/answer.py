"""A response that has ended, and how tests read it."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2

from mcpfleet.protocol.sse import Decoder, Event
from tests.balancer import PIN

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """Its head, and its body to the end."""

    status: int
    headers: httpx2.Headers
    body: bytes

    @property
    def process(self) -> int:
        """Which process of a fleet served it."""
        return int(self.headers[PIN])

    @property
    def is_stream(self) -> bool:
        return self.headers.get("content-type", "").startswith("text/event-stream")

    @property
    def events(self) -> list[Event]:
        """The events of a stream, in order."""
        assert self.is_stream, self
        return Decoder().feed(self.body)

    @property
    def messages(self) -> list[Json]:
        """Every JSON-RPC message in it, in order; those of a batch too."""
        bodies = [event.data for event in self.events] if self.is_stream else [self.body]
        found: list[Json] = []
        for parsed in map(json.loads, filter(None, bodies)):
            found += parsed if isinstance(parsed, list) else [parsed]
        return found

    @property
    def notifications(self) -> list[Json]:
        return [message for message in self.messages if "method" in message]

    @property
    def progress(self) -> list[float]:
        """The progress that was reported; of reports that wait to be sent, only the newest is."""
        found = [each["params"] for each in self.notifications if each["method"] == "notifications/progress"]
        return [params["progress"] for params in found]

    @property
    def replies(self) -> list[Json]:
        return [message for message in self.messages if "method" not in message]

    @property
    def reply(self) -> Json:
        """The one response in it."""
        assert len(self.replies) == 1, self
        return self.replies[0]

    @property
    def result(self) -> Json:
        assert "result" in self.reply, self
        result: Json = self.reply["result"]
        return result

    @property
    def error(self) -> Json:
        assert "error" in self.reply, self
        error: Json = self.reply["error"]
        return error

    @property
    def reason(self) -> str:
        """Which refusal of ours it is."""
        reason: str = self.error["data"]["reason"]
        return reason

    @property
    def text(self) -> str:
        """The text that a tool returned."""
        assert not self.result.get("isError"), self
        text: str = self.result["content"][0]["text"]
        return text

    @property
    def complaint(self) -> str:
        """The text that a tool failed with."""
        assert self.result.get("isError"), self
        complaint: str = self.result["content"][0]["text"]
        return complaint

    @property
    def value(self) -> Any:
        """What a tool returned, from its text, which every revision has."""
        return json.loads(self.text)
