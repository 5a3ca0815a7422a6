"""The tasks that a fleet has given up, for whoever operates it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from mcpfleet.server.tasks.letters import DeadLetter, DeadLetters
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import store_of_fleet


async def listed(settings: Settings) -> Sequence[DeadLetter]:
    """Every dead letter that is kept, oldest first. Raises `Unavailable`."""
    async with store_of_fleet(settings, "tasks") as backplane:
        return await DeadLetters(backplane).all()


def line(letter: DeadLetter) -> str:
    """One of them in one line: when, which task, of which tool, why, and after how many attempts."""
    at = datetime.fromtimestamp(letter.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f"{at}  {letter.task_id}  {letter.tool}  {letter.reason}  {letter.attempts}"
