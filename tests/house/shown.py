"""What the documents show: each snippet, with its language and the file that it quotes.

A Python snippet runs as it is, or names after its language the file that it quotes. Every line of a shell snippet is
run by `.ci/run`, or by a test that takes it from the documents with `command`.
"""

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from tests.house.source import ROOT, Source, documents, dotted

_FENCE: Final = re.compile(r"^```([a-z]*)(?: +(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Snippet:
    """One fenced block."""

    path: Path
    line: int
    language: str
    quotes: str
    """The file that it is a part of; empty if it stands for itself."""
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


def snippets(sources: Iterable[Source] = ()) -> list[Snippet]:
    """Every snippet of the documents given, by default of all."""
    return [snippet for source in sources or documents() for snippet in _in(source)]


def commands(sources: Iterable[Source] = ()) -> list[str]:
    """Every command line shown, without its comment."""
    lines = [line for snippet in snippets(sources) if snippet.language == "sh" for line in snippet.text.splitlines()]
    return [words for line in lines if (words := line.partition(" #")[0].strip()) and not words.startswith("#")]


def command(line: str) -> list[str]:
    """The words of a command line that a document shows: a test that runs it has them from here."""
    assert line in commands(), f"no document shows {line!r}"
    return shlex.split(line)


@cache
def tested_commands() -> frozenset[str]:
    """Every command line that a test takes with `command`, and every line of `.ci/run`."""
    ran = {line.strip() for line in (ROOT / ".ci/run").read_text().splitlines()}
    for path in (ROOT / "tests").rglob("test_*.py"):
        ran.update(_taken(ast.parse(path.read_text())))
    return frozenset(ran)


def _in(source: Source) -> Iterator[Snippet]:
    for found in _FENCE.finditer(source.text):
        line = source.text.count("\n", 0, found.start()) + 1
        yield Snippet(source.path, line, found[1], found[2] or "", found[3])


def _taken(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function, args=[ast.Constant(value=str(line))]) if dotted(function) == "shown.command":
                yield line
