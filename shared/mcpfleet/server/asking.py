"""What a handler asks its client, checked before it is sent and after it was answered; the same in both eras."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mcpfleet.errors import AnswerRefused, CannotAsk, ProtocolError
from mcpfleet.protocol.forms import Unshowable
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS
from mcpfleet.protocol.messages.content import TextContent
from mcpfleet.protocol.messages.elicitation import Action, ElicitForm, ElicitResult, ElicitUrl
from mcpfleet.protocol.messages.roots import ListRoots, ListRootsResult, Root
from mcpfleet.protocol.messages.sampling import CreateMessage, CreateMessageResult, SamplingMessage
from mcpfleet.protocol.questions import Kind, NoAnswer, Question, fault, read, written
from mcpfleet.server.caller import Caller
from mcpfleet.server.elicitation import Elicited, form_of
from mcpfleet.server.outlet import Outlet

Turn = str | SamplingMessage


class Asking:
    """The questions of one request."""

    def __init__(self, caller: Caller, outlet: Outlet) -> None:
        self._caller = caller
        self._outlet = outlet

    async def elicit(self, message: str, schema: Any, timeout: float | None) -> Elicited[Any]:
        """Have the user fill in a form."""
        form = form_of(schema)
        answer = await self._ask(ElicitForm(message=message, requested_schema=form.document), ElicitResult, timeout)
        if answer.action != "accept":
            return Elicited(answer.action, None)
        try:
            return Elicited(answer.action, form.read(answer.content or {}))
        except AnswerRefused as refused:
            raise self._unfit(str(refused)) from None

    async def visit(self, message: str, url: str, elicitation_id: str, timeout: float | None) -> Action:
        """Have the user visit a page; `ValueError` for what is no URL that a client could open."""
        answer = await self._ask(
            ElicitUrl(message=message, url=url, elicitation_id=elicitation_id), ElicitResult, timeout
        )
        return answer.action

    async def sample(
        self, messages: Turn | Sequence[Turn], timeout: float | None, **options: Any
    ) -> CreateMessageResult:
        """Have the client's model go on with a conversation."""
        turns = [messages] if isinstance(messages, Turn) else messages
        conversation = [SamplingMessage("user", TextContent(one)) if isinstance(one, str) else one for one in turns]
        return await self._ask(CreateMessage(messages=conversation, **options), CreateMessageResult, timeout)

    async def roots(self, timeout: float | None) -> tuple[Root, ...]:
        """The directories that the client works on."""
        answer = await self._ask(ListRoots(), ListRootsResult, timeout)
        return tuple(answer.roots)

    async def ping(self, timeout: float | None) -> None:
        """Hear that the client is still there."""
        if not self._caller.revision.server_requests:
            raise CannotAsk("This protocol version has no ping.")
        await self._outlet.ask("ping", {}, timeout=_checked(timeout))

    async def _ask(self, question: Question, kind: type[Kind], timeout: float | None) -> Kind:
        revision = self._caller.revision
        if (words := fault(question)) is not None:
            raise ValueError(f"this cannot be asked: {words}")
        if (why := self._caller.unaskable(question)) is not None:
            raise why
        try:
            method, params = written(question, revision)
        except Unshowable as error:
            raise CannotAsk(str(error)) from None
        result: Mapping[str, Any] = await self._outlet.ask(method, params, timeout=_checked(timeout))
        try:
            return read(kind, result)
        except NoAnswer as error:
            raise self._unfit(str(error)) from None

    def _unfit(self, words: str) -> Exception:
        """An answer that does not fit came in a message of its own, or as a parameter of the request being served."""
        if self._caller.revision.server_requests:
            return AnswerRefused(words)
        return ProtocolError(INVALID_PARAMS, f"params.inputResponses: {words}")


def _checked(timeout: float | None) -> float | None:
    if timeout is not None and not 0 < timeout < math.inf:
        raise ValueError("timeout must be a positive number of seconds")
    return timeout
