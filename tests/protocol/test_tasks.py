"""The words of the tasks extension, and what its ids look like."""

from typing import Any

import pytest

from mcpfleet.protocol import tasks
from mcpfleet.protocol.headers import NAMED_BY
from mcpfleet.protocol.methods import is_standard

SECRET = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("capabilities", "declared"),
    [
        ({"extensions": {tasks.NAME: {}}}, True),
        ({"extensions": {tasks.NAME: {"later": 1}}}, True),
        ({}, False),
        ({"extensions": {}}, False),
        ({"extensions": None}, False),
        ({"extensions": [tasks.NAME]}, False),
        ({"extensions": {tasks.NAME: None}}, False),
        ({"extensions": {tasks.NAME: False}}, False),
        ({tasks.NAME: {}}, False),
        ({"tasks": {}}, False),
    ],
)
def test_a_client_declares_the_extension_by_an_object(capabilities: dict[str, Any], declared: bool) -> None:
    assert tasks.declared(capabilities) is declared


@pytest.mark.parametrize("partition", range(tasks.PARTITIONS))
def test_an_id_tells_its_partition(partition: int) -> None:
    assert tasks.partition_of(tasks.task_id(partition, SECRET)) == partition


@pytest.mark.parametrize(
    "given",
    [
        "",
        SECRET,
        f"t-{SECRET}",
        f"t16-{SECRET}",
        f"t99-{SECRET}",
        f"t100-{SECRET}",
        f"T1-{SECRET}",
        f"t01-{SECRET}",
        f"t1-{SECRET}0",
        f"t1-{SECRET[:-1]}",
        f"t1-{SECRET[:-1]}g",
        f" t1-{SECRET}",
        f"t1-{SECRET}\n",
        f"t1-{SECRET}/record",
        f"t१-{SECRET}",
    ],
)
def test_no_task_has_such_an_id(given: str) -> None:
    assert tasks.partition_of(given) is None


def test_every_method_is_the_protocols_and_routed_by_the_task() -> None:
    for method in tasks.METHODS:
        assert is_standard(method)
        assert NAMED_BY[method] == "taskId"
