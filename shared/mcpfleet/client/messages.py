"""What arrives from a server, read."""

from collections.abc import Sequence
from typing import Final

from mcpfleet.errors import ReplyRefused
from mcpfleet.protocol.jsonrpc import Batch, Failure, Malformed, Message, Reply, RequestId, decode

MAX_VALUES: Final = 1_000_000
"""How many JSON values one message may have: its size bounds it further."""


def messages_in(body: bytes | None) -> Sequence[Message]:
    """The messages in a body, those of a batch in its order; none in an empty one. `ReplyRefused` for anything else."""
    if not body:
        return ()
    found = decode(body, max_values=MAX_VALUES)
    every = found.messages if isinstance(found, Batch) else (found,)
    read: list[Message] = []
    for message in every:
        if isinstance(message, Malformed):
            raise ReplyRefused(f"what the server sent is no message: {message.message}")
        read.append(message)
    return read


def is_answer(message: Message, request_id: RequestId | None) -> bool:
    """Whether a message answers this request; an error without an id answers whatever it came as a response to."""
    match message:
        case Reply():
            return message.id == request_id
        case Failure():
            return message.id is None or message.id == request_id
    return False
