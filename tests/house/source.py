"""The repository as these tests read it: its Python modules and its other files, each with its place."""

import ast
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SOURCE_ROOTS: Final = ("shared", "service", "workers")
UNREAD: Final = frozenset({"__pycache__", "build", "dist", "htmlcov", "node_modules"})
"""Directories that tools write, beside the hidden ones."""


@dataclass(frozen=True)
class Source:
    """One file of the repository: its path from the root, and its text."""

    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python module."""
        return ast.parse(self.text, str(self.path))

    @property
    def is_package(self) -> bool:
        """Whether it is the module of a package."""
        return self.path.name == "__init__.py"

    def scopes(self) -> "Iterator[Scope]":
        """Every node of the tree in order, each with the names of the definitions around it."""
        yield from _scopes(self.tree, (), in_async=False)

    def comments(self) -> Iterator[tuple[int, str]]:
        """Every comment, with the number of its line."""
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


@dataclass(frozen=True, slots=True)
class Scope:
    """A node, the names of the classes and functions around it, and whether the innermost function is async."""

    node: ast.AST
    names: tuple[str, ...]
    in_async: bool

    @property
    def qualified(self) -> str:
        """The names with dots, as in `Class.method`."""
        return ".".join(self.names)


Rule = Callable[[Source], Iterable[tuple[int, str]]]
"""What is wrong in a file: line numbers and words."""


def planted(text: str, path: str = "shared/mcpfleet/planted.py") -> Source:
    """A file that is not there, to see that a rule finds what it forbids."""
    return Source(Path(path), text)


def broken(rule: Rule, sources: Iterable[Source]) -> list[str]:
    """Where the rule is broken, in words."""
    return [f"{source.path}:{line}: {words}" for source in sources for line, words in rule(source)]


@cache
def product() -> tuple[Source, ...]:
    """Every Python module of the three source roots."""
    return tuple(each for each in files() if each.path.suffix == ".py" and each.path.parts[0] in SOURCE_ROOTS)


@cache
def modules() -> tuple[Source, ...]:
    """Every Python module of the repository: product, tests, examples and tools."""
    return tuple(each for each in files() if each.path.suffix == ".py")


@cache
def documents() -> tuple[Source, ...]:
    """Every Markdown file."""
    return tuple(each for each in files() if each.path.suffix == ".md")


@cache
def files() -> tuple[Source, ...]:
    """Every text file of the repository, `.ci` and the hidden files of the root included."""
    found = ((path.relative_to(ROOT), path.read_bytes()) for path in _walk(ROOT))
    return tuple(Source(path, data.decode()) for path, data in found if b"\0" not in data)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for such an expression; of a call, what is called; empty for anything else at its left end."""
    if isinstance(node, ast.Call):
        return dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _walk(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.is_dir():
            hidden = path.name.startswith(".") and path.name != ".ci"
            if not hidden and path.name not in UNREAD and not path.name.endswith(".egg-info"):
                yield from _walk(path)
        elif path.name != ".git" and not path.name.startswith(".coverage"):  # a file in a second work tree
            yield path


def _scopes(node: ast.AST, names: tuple[str, ...], in_async: bool) -> Iterator[Scope]:
    for child in ast.iter_child_nodes(node):
        yield Scope(child, names, in_async)
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _scopes(child, (*names, child.name), isinstance(child, ast.AsyncFunctionDef))
        else:
            yield from _scopes(child, names, in_async)
