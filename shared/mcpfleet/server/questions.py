"""Questions to the clients of legacy sessions: asked on the call's stream, answered by a POST to any process.

The id of each of our requests names the exchange and the question, so whichever process receives the answer finds the
log that the asker waits at. It is looked for within the session that the answer came with, and nowhere else.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from mcpfleet.backplane.base import mint
from mcpfleet.backplane.replies import ANSWER_TTL, Verdict, answer, ask, await_answer
from mcpfleet.errors import ClientRefused, LogGap, NotAnswered, Unavailable
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.jsonrpc import Failure, Reply, RequestId, encode_request
from mcpfleet.server.exchange import Exchange
from mcpfleet.server.process import Process
from mcpfleet.server.sessions import Session
from mcpfleet.server.streams import CallEnded, CallStream

_ID: Final = re.compile(r"ask-([0-9a-f]{16})-([0-9a-f]{16})")


class Questions:
    """Asks, and takes the answers to whoever asked."""

    def __init__(self, process: Process) -> None:
        self._backplane = process.backplane
        self._keeper = process.keeper
        self._within = process.policy.answer_within
        self._vitals = process.vitals

    async def ask(
        self, stream: CallStream, method: str, params: Mapping[str, Any], *, timeout: float | None
    ) -> Mapping[str, Any]:
        """Put a request of ours on the call's stream and wait for its result.

        Leaving without it, by a deadline or by being cancelled, tells the client so, and from then on every answer is
        refused.
        """
        deadline = self._within if timeout is None else timeout
        name = mint()
        question = stream.exchange.question(name)
        request_id = f"ask-{stream.exchange.id}-{name}"
        self._vitals.questions += 1
        try:
            start = await ask(self._backplane, question, ttl=deadline + ANSWER_TTL)
            async with stream.asking(request_id, encode_request(request_id, method, params)):
                data = await await_answer(self._backplane, question, start, deadline=deadline)
        except TimeoutError:
            raise NotAnswered(f"The client did not answer within {deadline:g} seconds.") from None
        except (LogGap, Unavailable, CallEnded) as lost:
            raise NotAnswered("The client's answer was lost.") from lost
        finally:
            self._vitals.questions -= 1
        return _result(data)

    async def give(self, session: Session, message: Reply | Failure) -> bool:
        """Give an answer to its asker; False if nobody waits for it. The same answer again is given again."""
        named = None if message.id is None else _named(message.id)
        if named is None:
            return False
        exchange = Exchange(session.id, named[0])
        question = exchange.question(named[1])
        verdict = await answer(self._backplane, self._keeper, question, exchange.alive, _packed(message))
        return verdict is not Verdict.REFUSED


def _named(request_id: RequestId) -> tuple[str, str] | None:
    match = _ID.fullmatch(request_id) if isinstance(request_id, str) else None
    return None if match is None else (match[1], match[2])


def _packed(message: Reply | Failure) -> bytes:
    if isinstance(message, Reply):
        return jsontext.dumps({"result": message.result})
    return jsontext.dumps({"error": message.error})


def _result(data: bytes) -> Mapping[str, Any]:
    answered: dict[str, Any] = msgspec.json.decode(data)
    if "error" in answered:
        error = answered["error"]
        raise ClientRefused(error["code"], error["message"], error.get("data"))
    result: dict[str, Any] = answered["result"]
    return result
