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
    """The tests of a module whose docstrings cite nothing."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            cited = CITATION.search(" ".join((ast.get_docstring(node) or "").split()))
            if cited is None:
                yield node.name


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
    found = list(uncited(f"async def test_a() -> None:\n    '''{docstring}'''\n"))
    assert found == ([] if cites else ["test_a"])
