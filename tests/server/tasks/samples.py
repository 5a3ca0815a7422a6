"""Work to be done, as tests of tasks make it."""

from typing import Any

from mcpfleet.server.auth import ANYONE
from mcpfleet.server.tasks.record import Record, Work

FORM = {"method": "elicitation/create", "params": {"message": "Who?"}}
ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


def work(**fields: Any) -> Work:
    """A call of the tool `dig`, by anyone."""
    return Work(
        **{
            "tool": "dig",
            "owner": ANYONE,
            "params": b"{}",
            "caller": b"{}",
            "memory": b"{}",
            "queue": "default",
            **fields,
        }
    )


def record(**fields: Any) -> Record:
    """A task that was made at 1000 and lives for an hour."""
    return Record(**{"work": work(), "created": 1000.0, "updated": 1000.0, "ttl": 3600.0, **fields})
