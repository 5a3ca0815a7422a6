"""From a call's stream to a client: for the connection that brought the call, and for any that takes it up again."""

from contextlib import aclosing

from mcpfleet.backplane.base import Position
from mcpfleet.errors import LogGap
from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode_failure
from mcpfleet.server import eventids
from mcpfleet.server.eventids import CallPlace
from mcpfleet.server.exchange import Exchange
from mcpfleet.server.peer import Peer
from mcpfleet.server.process import Process
from mcpfleet.server.streams import read_call


async def deliver(process: Process, exchange: Exchange, after: Position, peer: Peer) -> bool:
    """Send what follows the position, once and in order, up to the call's end; False if a part of it is lost."""
    readings = read_call(
        process.backplane,
        process.keeper,
        exchange,
        after,
        retention=process.policy.retention,
        failure=outcome_unknown,
    )
    try:
        async with aclosing(readings):
            async for reading in readings:
                if reading.body is not None:
                    await peer.send(
                        sse.encode(reading.body, id=event_id(exchange, reading.position, last=reading.last))
                    )
    except LogGap:
        return False
    return True


def event_id(exchange: Exchange, position: Position, *, last: bool = False) -> str:
    """The id of the event that ends at this position of a call's stream."""
    return eventids.write(exchange.session, CallPlace(exchange.id, position, last))


def outcome_unknown(request_id: RequestId) -> bytes:
    """What a call ends with whose process died."""
    words = "The process that ran this request is gone; its outcome is unknown."
    return encode_failure(request_id, INTERNAL_ERROR, words, {"reason": "outcome_unknown"})


def not_replayable(request_id: RequestId) -> bytes:
    """What a stream ends with of which a part is lost."""
    words = "What follows the last event can no longer be replayed; the outcome is unknown."
    return encode_failure(request_id, INTERNAL_ERROR, words, {"reason": "not_replayable"})


def server_stopped(request_id: RequestId) -> bytes:
    """What a call ends with that its process could not finish in time."""
    words = "The server stopped before this request was finished; its outcome is unknown."
    return encode_failure(request_id, INTERNAL_ERROR, words, {"reason": "server_stopped"})
