"""Whoever reads an interaction test learns which requirement it proves, and where to read of it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.requirements.manifest import ROOT

CITATION: Final = re.compile(r'[A-Z][\w /-]*, ("[^"]+"|`[^`]+`)|\bRFC \d+|\bJSON-RPC 2\.0')
"""A page, and the heading of a section in quotes or the name of a type, or another standard."""


def uncited(source: str) -> Iterator[str]:
    """The tests of a module that cite nothing in their docstrings, unless the module's does it for all of them."""
    module = ast.parse(source)
    if _cites(module):
        return
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _cites(node) and node.name[:5] == "test_":
            yield node.name


def _cites(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return CITATION.search(" ".join((ast.get_docstring(node) or "").split())) is not None


@pytest.mark.parametrize("path", sorted((ROOT / "tests/interaction").glob("test_*.py")), ids=lambda path: path.stem)
def test_every_interaction_test_cites_what_it_proves(path: Path) -> None:
    """By page and section, as in `Transports, "Session Management"`."""
    assert list(uncited(path.read_text())) == []


@pytest.mark.parametrize(
    ("docstring", "cites"),
    [
        ('Transports 2025-11-25, "Session Management": 404.', True),
        ("RFC 9110, section 15.5.14: 413.", True),
        ("JSON-RPC 2.0: one error each.", True),
        ("Transports: a message is one event.", False),
        ("It works.", False),
        ("", False),
    ],
)
def test_a_docstring_without_a_citation_is_found(docstring: str, cites: bool) -> None:
    quoted = f"'''{docstring}'''"
    for source in (f"async def test_a() -> None:\n    {quoted}\n", f"{quoted}\n\ndef test_a() -> None: ...\n"):
        assert list(uncited(source)) == ([] if cites else ["test_a"])
