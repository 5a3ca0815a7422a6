"""Everything public says in its docstring what it promises."""

import ast
from collections.abc import Iterator

from tests.house.source import Source, broken, planted, product


def silent(source: Source) -> Iterator[tuple[int, str]]:
    """What is public and has no docstring; overloads speak through what they overload."""
    if ast.get_docstring(source.tree) is None:
        yield 1, "the module"
    yield from _silent(source.tree, "")


def _silent(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[int, str]]:
    for node in parent.body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
            continue
        overloads = any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list)
        if ast.get_docstring(node) is None and not overloads:
            yield node.lineno, prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _silent(node, f"{node.name}.")


def test_everything_public_has_a_docstring() -> None:
    assert broken(silent, product()) == []


def test_a_missing_docstring_is_found() -> None:
    text = """
class Open:
    def method(self): ...
    def _private(self): ...
    @overload
    def other(self): ...

class _Private:
    def method(self): ...

async def function():
    def inner(): ...
"""
    found = [words for _, words in silent(planted(text))]
    assert found == ["the module", "Open", "Open.method", "function"]
