"""What a module exports: sorted, public, and really there."""

import ast
from importlib import import_module
from typing import Any

import pytest

import mcpfleet
from tests.house.source import Source, planted, product


def exported(source: Source) -> list[str] | None:
    """The names in `__all__`, in their order; None without it."""
    for node in source.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names: list[str] = ast.literal_eval(value)
                return names
    return None


def in_order(names: list[str]) -> list[str]:
    """Constants, then classes, then functions, each by name: as ruff's RUF022 has it."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[:1].isupper(), name))


EXPORTING = [source for source in product() if exported(source) is not None]


def module_of(source: Source) -> Any:
    return import_module(".".join(source.path.with_suffix("").parts[1:]).removesuffix(".__init__"))


@pytest.mark.parametrize("source", EXPORTING, ids=lambda source: str(source.path))
def test_what_is_exported_is_sorted_public_and_there(source: Source) -> None:
    names = exported(source) or []
    assert names == in_order(names)
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith("_")] == []
    assert [name for name in names if not hasattr(module_of(source), name)] == []


def test_disorder_is_found() -> None:
    names = exported(planted('__all__ = ["One", "TWO", "a", "Three"]\n'))
    assert names is not None
    assert in_order(names) == ["TWO", "One", "Three", "a"]


def test_the_library_itself_only_re_exports() -> None:
    [top] = [source for source in product() if str(source.path) == "shared/mcpfleet/__init__.py"]
    docstring, *imports, exports = top.tree.body
    assert isinstance(docstring, ast.Expr)
    assert all(isinstance(each, ast.ImportFrom) for each in imports)
    imported = {
        alias.asname or alias.name for each in imports if isinstance(each, ast.ImportFrom) for alias in each.names
    }
    assert isinstance(exports, ast.Assign)
    assert set(mcpfleet.__all__) == imported
