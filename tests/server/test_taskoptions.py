"""Whether and how the calls of a tool become tasks."""

from typing import Any

import pytest

from mcpfleet import Context, RegistrationError, Server, ToolAnnotations
from mcpfleet.server.taskoptions import TaskOptions
from mcpfleet.server.tool import Tool


def registered(**options: Any) -> Tool:
    server = Server("s")

    @server.tool(**options)
    def t(ctx: Context) -> None: ...

    found = server.registry.tools.get("t")
    assert found is not None
    return found


def test_a_call_becomes_no_task_unless_its_tool_says_so() -> None:
    assert registered().task == registered(task="never").task == TaskOptions("never")
    assert not registered().task


@pytest.mark.parametrize("mode", ["optional", "required"])
def test_a_tool_says_how_its_calls_become_tasks(mode: Any) -> None:
    assert registered(task=mode).task == TaskOptions(mode, detach=True, queue="default", ttl=None)
    given = registered(task=mode, detach=False, queue="slow.1", task_ttl=60)
    assert given.task == TaskOptions(mode, detach=False, queue="slow.1", ttl=60)
    assert given.task


def test_a_class_says_it_by_its_attributes() -> None:
    class Research:
        task = "required"
        queue = "slow"

        def __call__(self) -> None: ...

    server = Server("s", tools=[Research])
    found = server.registry.tools.get("research")
    assert found is not None
    assert found.task == TaskOptions("required", queue="slow")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "always"}, "task is one of never, optional, required"),
        ({"task": True}, "task is one of"),
        ({"task": ["optional"]}, "task is one of"),
        ({"task": "optional", "detach": "no"}, "detach is True or False"),
        ({"task": "optional", "detach": 0}, "detach is True or False"),
        ({"task": "optional", "queue": ""}, "a queue is named by"),
        ({"task": "optional", "queue": "a/b"}, "a queue is named by"),
        ({"task": "optional", "queue": "q" * 65}, "a queue is named by"),
        ({"task": "optional", "queue": 1}, "a queue is named by"),
        ({"task": "optional", "task_ttl": 0}, "task_ttl must be a positive number of seconds"),
        ({"task": "optional", "task_ttl": True}, "task_ttl must be a positive number of seconds"),
        ({"task": "optional", "task_ttl": "60"}, "task_ttl must be a positive number of seconds"),
        ({"task": "optional", "task_ttl": float("nan")}, "task_ttl must be a positive number of seconds"),
        ({"task": "optional", "task_ttl": 366 * 86_400 + 1}, "at most 31622400"),
        ({"detach": False}, "are for tools with task="),
        ({"task": "never", "queue": "slow"}, "are for tools with task="),
        ({"task_ttl": 60}, "are for tools with task="),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words) as refused:
        registered(**options)
    assert str(refused.value).startswith("tool 't': ")


def test_included_tools_keep_their_options() -> None:
    inner, outer = Server("inner"), Server("outer")

    @inner.tool(task="optional", queue="slow", annotations=ToolAnnotations(read_only_hint=True))
    def t() -> None: ...

    outer.include(inner, prefix="in_")
    found = outer.registry.tools.get("in_t")
    assert found is not None
    assert found.task == TaskOptions("optional", queue="slow")
    assert found.repeatable


@pytest.mark.parametrize(
    ("annotations", "repeatable"),
    [
        (None, False),
        (ToolAnnotations(), False),
        (ToolAnnotations(idempotent_hint=False, read_only_hint=False), False),
        (ToolAnnotations(idempotent_hint=True), True),
        (ToolAnnotations(read_only_hint=True), True),
    ],
)
def test_a_tool_may_run_twice_that_says_that_it_does_no_harm(
    annotations: ToolAnnotations | None, repeatable: bool
) -> None:
    assert registered(annotations=annotations).repeatable is repeatable
