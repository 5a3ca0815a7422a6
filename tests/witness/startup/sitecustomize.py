"""Notes down what each server hears and says, in whichever process it runs; `tests.witness` reads the notes.

Every interpreter that a test starts has this directory on its import path, and so imports this before all else.
"""

import itertools
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

JOURNAL: Final = "WITNESS_JOURNAL"
"""The variable that names the file that all processes of a test run append to."""

Message = MutableMapping[str, Any]

_numbers: Final = itertools.count()


class Channel:
    """One HTTP exchange, or one connection of lines; a note is one append, so all processes agree on their order."""

    def __init__(self, kind: str, session: str | None = None, version: str | None = None) -> None:
        """`session` and `version` are those that the client names, in headers or in its URL."""
        self._name = f"{os.getpid()}.{next(_numbers)}"
        self._note(kind=kind, session=session, version=version)

    def heard(self, data: bytes, *, last: bool = True) -> None:
        """Some bytes of what the client sends; a whole message if it sends lines."""
        self._note(heard=data.decode("latin-1"), last=last)

    def answered(self, media_type: str | None, session: str | None = None) -> None:
        """The head of the response, and the session that it begins."""
        self._note(media_type=media_type, begins=session)

    def said(self, data: bytes, *, last: bool = False) -> None:
        """Some bytes of what the server sends; a whole message if it sends lines."""
        self._note(said=data.decode("latin-1"), last=last)

    def _note(self, **what: Any) -> None:
        note = json.dumps({"channel": self._name, **what}).encode() + b"\n"
        journal = os.open(os.environ[JOURNAL], os.O_WRONLY | os.O_APPEND)
        try:
            written = os.write(journal, note)
        finally:
            os.close(journal)
        assert written == len(note), "a note must be whole"


def _note_http(module: ModuleType) -> None:
    serve = module.Endpoint.__call__

    async def noted(endpoint: Any, scope: Message, receive: Callable[[], Awaitable[Message]], send: Any) -> None:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        named = parse_qs(scope["query_string"].decode("latin-1")).get("session_id", [None])
        channel = Channel("http", headers.get(b"mcp-session-id", named[0]), headers.get(b"mcp-protocol-version"))

        async def hear() -> Message:
            message = await receive()
            if message["type"] == "http.request":
                channel.heard(message.get("body", b""), last=not message.get("more_body", False))
            return message

        async def say(message: Message) -> None:
            if message["type"] == "http.response.start":
                head = {name.lower(): value.decode("latin-1") for name, value in message["headers"]}
                channel.answered(head.get(b"content-type"), head.get(b"mcp-session-id"))
            else:
                channel.said(message.get("body", b""), last=not message.get("more_body", False))
            await send(message)

        await serve(endpoint, scope, hear, say)

    module.Endpoint.__call__ = noted


def _note_lines(module: ModuleType) -> None:
    begin, take = module.Conversation.__init__, module.Conversation.take
    channels: WeakKeyDictionary[Any, Channel] = WeakKeyDictionary()

    def noted(conversation: Any, engine: Any, write: Callable[[bytes], Awaitable[None]], tasks: Any) -> None:
        channel = channels[conversation] = Channel("lines")

        async def say(message: bytes) -> None:
            channel.said(message)
            await write(message)

        begin(conversation, engine, say, tasks)

    async def hear(conversation: Any, line: bytes) -> None:
        channels[conversation].heard(line)
        await take(conversation, line)

    module.Conversation.__init__ = noted
    module.Conversation.take = hear


class _Overheard:
    """A test's own peer, and what is sent to it."""

    def __init__(self, peer: Any, channel: Channel) -> None:
        self._peer = peer
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._peer, name)

    async def begin(self) -> None:
        if not self._peer.begun:
            self._channel.answered("text/event-stream")
        await self._peer.begin()

    async def send(self, frame: bytes) -> None:
        self._channel.said(frame)
        await self._peer.send(frame)


def _note_engine(module: ModuleType) -> None:
    """Note what goes to a peer of a test's own; what goes to the product's is noted where it leaves the process."""
    serve = module.Engine.serve

    async def noted(engine: Any, asked: Any, headers: Any, principal: Any, peer: Any) -> Any:
        if type(peer).__module__.startswith("mcpfleet"):
            return await serve(engine, asked, headers, principal, peer)
        revision = getattr(asked, "revision", None)
        channel = Channel("http", getattr(asked, "session_id", None), revision and revision.date)
        channel.heard(_text(asked))
        answer = await serve(engine, asked, headers, principal, _Overheard(peer, channel))
        if peer.begun:
            channel.said(b"data: %b\n\n" % answer.body if answer and answer.body else b"", last=True)
        elif answer is not None:
            channel.answered(answer.media_type, dict(answer.headers).get("Mcp-Session-Id"))
            channel.said(answer.body, last=True)
        return answer

    module.Engine.serve = noted


def _note_refusals(module: ModuleType) -> None:
    """What never gets to an engine."""
    encode = module.Rejected.body

    def noted(rejected: Any) -> bytes:
        body: bytes = encode(rejected)
        channel = Channel("http")
        channel.answered("application/json")
        channel.said(body, last=True)
        return body

    module.Rejected.body = noted


def _text(asked: Any) -> bytes:
    """The requests in what the engine is asked to serve, as a client would have sent them."""
    message = getattr(asked, "request", getattr(asked, "message", None))
    each = [one for one in getattr(message, "messages", [message]) if hasattr(one, "method") and hasattr(one, "id")]
    return json.dumps([{"id": one.id, "method": one.method, "params": one.params} for one in each]).encode()


EXITS: Final[dict[str, Callable[[ModuleType], None]]] = {
    "mcpfleet_service.endpoint": _note_http,
    "mcpfleet.server.conversation": _note_lines,
    "mcpfleet.server.engine": _note_engine,
    "mcpfleet.protocol.inbound.rejected": _note_refusals,
}
"""The modules by which messages leave."""


class _Finder(MetaPathFinder):
    """Changes each of the modules once it is imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in EXITS else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_change(module: ModuleType) -> None:
            execute(module)
            EXITS[name](module)

        spec.loader.exec_module = execute_and_change  # type: ignore[method-assign]  # the loader is this module's own
        return spec


def install() -> None:
    """Note all that this process says from now on; once is enough."""
    if any(type(finder).__name__ == _Finder.__name__ for finder in sys.meta_path):
        return
    for name in EXITS.keys() & sys.modules.keys():
        EXITS[name](sys.modules[name])
    sys.meta_path.insert(0, _Finder())


if JOURNAL in os.environ:
    install()
