"""The words of the extension `io.modelcontextprotocol/tasks`: its names, and what its ids look like."""

import re
from collections.abc import Mapping
from typing import Any, Final

NAME: Final = "io.modelcontextprotocol/tasks"
EXTENSION: Final[Mapping[str, dict[str, Any]]] = {NAME: {}}
"""What a server that makes tasks declares among its extensions ("Capability Negotiation")."""
RESULT_TYPE: Final = "task"
"""The `resultType` of a result that is the handle of a task ("Polymorphic Results")."""
METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
MAX_LISTENED: Final = 256
"""How many tasks one `subscriptions/listen` may name."""
PARTITIONS: Final = 16
"""Into how many parts all tasks are divided; what one atomic write must see lies in one part."""

_ID: Final = re.compile(r"t(0|[1-9][0-9]?)-[0-9a-f]{32}")


def declared(capabilities: Mapping[str, Any]) -> bool:
    """Whether a client with these capabilities takes a task in place of a result."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(NAME), dict)


def task_id(partition: int, secret: str) -> str:
    """The id of a task: whoever does not know its 32 random hexadecimal digits cannot guess it ("Security")."""
    return f"t{partition}-{secret}"


def partition_of(task_id: str) -> int | None:
    """The part that a task of this id is kept in; None: no task can have such an id."""
    match = _ID.fullmatch(task_id)
    partition = PARTITIONS if match is None else int(match[1])
    return partition if partition < PARTITIONS else None
