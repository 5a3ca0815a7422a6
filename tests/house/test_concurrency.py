"""Structured concurrency: every task has a group that waits for it, and nothing holds the event loop up."""

import ast
from collections.abc import Iterator

from tests.house.source import Source, broken, dotted, planted, product

LOOSE = {"ensure_future", "run_coroutine_threadsafe", "Task"}


def loose_tasks(source: Source) -> Iterator[tuple[int, str]]:
    """Tasks that no `TaskGroup` owns; a group is known by how its module annotates, assigns or enters it."""
    groups = set(_groups(source.tree))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            owner, _, name = dotted(node.func).rpartition(".")
            if name == "create_task" and owner.rpartition(".")[2] not in groups:
                yield node.lineno, f"{owner}.create_task, where {owner} is no TaskGroup"
            elif name in LOOSE and owner in ("", "asyncio"):
                yield node.lineno, name


def held_loops(source: Source) -> Iterator[tuple[int, str]]:
    for scope in source.scopes():
        if isinstance(scope.node, ast.Call) and scope.in_async and dotted(scope.node.func) == "time.sleep":
            yield scope.node.lineno, "time.sleep in a coroutine"


def prints(source: Source) -> Iterator[tuple[int, str]]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and dotted(node.func) in ("print", "builtins.print"):
            yield node.lineno, "print"


def _groups(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.withitem(context_expr=value, optional_vars=target) if target is not None and _is_group(value):
                yield dotted(target).rpartition(".")[2]
            case ast.Assign(targets=[target], value=value) if _is_group(value):
                yield dotted(target).rpartition(".")[2]
            case ast.AnnAssign(target=target, annotation=hint) if _is_group(hint):
                yield dotted(target).rpartition(".")[2]
            case ast.arg(arg=name, annotation=hint) if hint is not None and _is_group(hint):
                yield name


def _is_group(node: ast.AST) -> bool:
    return any(dotted(each) == "asyncio.TaskGroup" for each in ast.walk(node))


def test_every_task_belongs_to_a_group() -> None:
    assert broken(loose_tasks, product()) == []


def test_a_task_without_a_group_is_found() -> None:
    text = """
import asyncio
from asyncio import ensure_future
class Some:
    _kept: asyncio.TaskGroup | None = None
    async def run(self, given: asyncio.TaskGroup) -> None:
        asyncio.create_task(work())
        asyncio.get_running_loop().create_task(work())
        ensure_future(work())
        asyncio.run_coroutine_threadsafe(work(), loop)
        self._kept.create_task(work())
        given.create_task(work())
        async with asyncio.TaskGroup() as entered:
            entered.create_task(work())
"""
    assert [line for line, _ in loose_tasks(planted(text))] == [7, 8, 9, 10]


def test_no_coroutine_holds_the_event_loop_up() -> None:
    assert broken(held_loops, product()) == []


def test_a_sleep_in_a_coroutine_is_found_and_one_in_a_thread_is_not() -> None:
    text = (
        "async def one():\n    time.sleep(1)\n    def two():\n        time.sleep(1)\ndef three():\n    time.sleep(1)\n"
    )
    assert [line for line, _ in held_loops(planted(text))] == [2]


def test_the_product_prints_nothing() -> None:
    """What a command says goes through `typer.echo`; what a process has to tell goes to its log."""
    assert broken(prints, product()) == []


def test_a_print_is_found() -> None:
    assert [line for line, _ in prints(planted('x = 1\nprint("x")\n'))] == [2]
