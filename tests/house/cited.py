"""The tests that documents cite, as `path/test_file.py::test_name` below `tests`."""

import ast
import re
from functools import cache

from tests.house.source import ROOT

_CITATION = re.compile(r"((?:\w+/)*test_\w+\.py)::(test_\w+)")


def cited(text: str) -> list[tuple[str, str]]:
    """The file and the name of every test that a text cites."""
    return _CITATION.findall(text)


def missing(text: str) -> list[str]:
    """The citations in a text of tests that do not exist."""
    return [f"{path}::{test}" for path, test in cited(text) if test not in named_in(path)]


@cache
def named_in(path: str) -> frozenset[str]:
    """The names of the tests in a file below `tests`."""
    file = ROOT / "tests" / path
    if not file.exists():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text()))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
