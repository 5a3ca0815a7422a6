"""Where a task is kept: all that one atomic write must see is in one scope, that of the task's partition."""

from dataclasses import dataclass

from mcpfleet.protocol.tasks import PARTITIONS, partition_of


@dataclass(frozen=True, slots=True)
class Names:
    """The names of one task."""

    id: str
    partition: int

    @property
    def scope(self) -> str:
        """What is written together."""
        return _scope(self.partition)

    @property
    def record(self) -> str:
        """The cell that is the task; its bell rings at each change."""
        return f"{self.scope}/{self.id}/record"

    @property
    def progress(self) -> str:
        """The cell of what its run last said of itself."""
        return f"{self.scope}/{self.id}/progress"

    @property
    def lease(self) -> str:
        """The lease of the process that runs it."""
        return f"{self.scope}/{self.id}/alive"

    @property
    def ends(self) -> str:
        """The agenda of when tasks end."""
        return ends(self.partition)

    def queue(self, name: str) -> str:
        """The agenda of what is to be run in this queue."""
        return queue(self.partition, name)

    @property
    def bell(self) -> str:
        """What rings when something is to be run at once."""
        return bell(self.partition)


def names_of(task_id: str) -> Names | None:
    """The names of a task; None: there is no such task, and the store need not be asked."""
    partition = partition_of(task_id)
    return None if partition is None else Names(task_id, partition)


def queue(partition: int, name: str) -> str:
    """The agenda of what is to be run."""
    return f"{_scope(partition)}/queue/{name}"


def ends(partition: int) -> str:
    """The agenda of when tasks end."""
    return f"{_scope(partition)}/ends"


def bell(partition: int) -> str:
    """What rings when something in a partition is to be run at once, in whichever queue."""
    return f"{_scope(partition)}/queues"


def _scope(partition: int) -> str:
    if not 0 <= partition < PARTITIONS:
        raise ValueError(f"there is no partition {partition}")
    return f"tasks.{partition}"
