"""From a call's stream to a client: for the connection that brought the call, and for any that takes it up again."""

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

from mcpfleet.backplane.base import Position
from mcpfleet.errors import LogGap
from mcpfleet.protocol import sse
from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode_failure
from mcpfleet.server import eventids
from mcpfleet.server.eventids import CallPlace
from mcpfleet.server.exchange import Exchange
from mcpfleet.server.outcome import STOPPED
from mcpfleet.server.peer import Peer
from mcpfleet.server.process import Process
from mcpfleet.server.streams import read_call


async def deliver(process: Process, exchange: Exchange, request_id: RequestId, after: Position, peer: Peer) -> bool:
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
                    place = CallPlace(exchange.id, reading.position, request_id, reading.last)
                    await peer.send(sse.encode(reading.body, id=eventids.write(exchange.session, place)))
    except LogGap:
        return False
    return True


async def unless(ended: Coroutine[Any, Any, bytes], delivering: Coroutine[Any, Any, bool], peer: Peer) -> bool:
    """What a delivery returns; True, with the rest left to another connection, as soon as `ended` returns.

    What it returns is sent in parting.
    """
    async with asyncio.TaskGroup() as tasks:
        work, interruption = tasks.create_task(delivering), tasks.create_task(ended)
        await asyncio.wait({work, interruption}, return_when=asyncio.FIRST_COMPLETED)
        work.cancel()
        interruption.cancel()
    if not work.cancelled():
        return work.result()
    if not interruption.cancelled() and (parting := interruption.result()):
        await peer.send(parting)
    return True


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
    return encode_failure(request_id, STOPPED.code, STOPPED.message, STOPPED.data)
