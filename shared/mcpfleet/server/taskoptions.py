"""Whether and how the calls of a tool become tasks."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from mcpfleet.errors import RegistrationError
from mcpfleet.server.options import ToolOptions, checked_seconds

QUEUE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
DEFAULT_QUEUE: Final = "default"
MAX_TTL: Final = 366 * 86_400.0
"""How long a task may be kept, in seconds."""
SUPPORT: Final = ("never", "optional", "required")


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """What a tool says of its tasks."""

    support: Literal["never", "optional", "required"] = "never"
    detach: bool = True
    """Whether a call becomes a task before the tool begins."""
    queue: str = DEFAULT_QUEUE
    ttl: float | None = None
    """Seconds that a task is kept from its creation; None: as the operator says."""

    def __bool__(self) -> bool:
        """Whether there can be tasks of it."""
        return self.support != "never"


def task_options(options: ToolOptions, where: str) -> TaskOptions:
    """What the options say; `RegistrationError` for what makes no sense."""
    support = options.get("task") or "never"
    if support not in SUPPORT:
        raise RegistrationError(f"{where}: task is one of {', '.join(SUPPORT)}, not {support!r}")
    detach, queue = options.get("detach"), options.get("queue")
    if detach is not None and not isinstance(detach, bool):
        raise RegistrationError(f"{where}: detach is True or False, not {detach!r}")
    if queue is not None and not (isinstance(queue, str) and QUEUE.fullmatch(queue)):
        raise RegistrationError(f"{where}: a queue is named by 1 to 64 letters, digits, `_`, `.` or `-`")
    ttl = checked_seconds(options.get("task_ttl"), where, "task_ttl")
    if ttl is not None and ttl > MAX_TTL:
        raise RegistrationError(f"{where}: task_ttl must be at most {MAX_TTL:.0f} seconds")
    if support == "never" and any(each is not None for each in (detach, queue, ttl)):
        raise RegistrationError(f"{where}: detach, queue and task_ttl are for tools with task='optional' or 'required'")
    return TaskOptions(support, detach is not False, queue or DEFAULT_QUEUE, ttl)
