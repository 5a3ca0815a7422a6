"""Where a task is kept: all that one write must see is in one scope."""

import pytest

from mcpfleet.backplane.base import checked, scope_of
from mcpfleet.protocol.tasks import PARTITIONS, task_id
from mcpfleet.server.tasks.names import bell, ends, names_of, queue

SECRET = "0123456789abcdef" * 2


@pytest.mark.parametrize("partition", range(PARTITIONS))
def test_all_of_a_task_is_in_the_scope_of_its_partition(partition: int) -> None:
    names = names_of(task_id(partition, SECRET))
    assert names is not None
    every = [names.record, names.progress, names.lease, names.ends, names.queue("slow.1"), names.bell]
    assert {scope_of(checked(name)) for name in every} == {names.scope}
    assert len(set(every)) == len(every)


def test_partitions_share_nothing() -> None:
    assert len({ends(part) for part in range(PARTITIONS)} | {bell(part) for part in range(PARTITIONS)}) == 32
    assert queue(3, "slow") != queue(3, "default")


@pytest.mark.parametrize("given", ["", "t1", "t16-" + SECRET, "t1-" + SECRET[:-1], "t1-" + SECRET.upper(), "x"])
def test_the_store_need_not_be_asked_for_what_cannot_be_there(given: str) -> None:
    assert names_of(given) is None


@pytest.mark.parametrize("partition", [-1, PARTITIONS])
def test_there_are_no_other_partitions(partition: int) -> None:
    with pytest.raises(ValueError, match="there is no partition"):
        queue(partition, "default")
