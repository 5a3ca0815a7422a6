"""What docs/features.md tells of this program is there: names, settings, and tests."""

import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import pytest

import mcpfleet
from mcpfleet.server import options
from mcpfleet_service.settings import Settings
from mcpfleet_service.variables import PREFIX, variables
from tests.house.cited import cited, missing
from tests.house.source import ROOT

DOCUMENT: Final = ROOT / "docs/features.md"
COLUMNS: Final = ["feature", "here", "shown by", "Python SDK", "FastMCP"]
LATER: Final = "not yet"

_NAME: Final = re.compile(r"@?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\((.*)\))?")
_PREFIXES: Final = {"server": mcpfleet.Server, "ctx": mcpfleet.Context, "fleet": mcpfleet.Fleet}
_COMMANDS: Final = frozenset({"mcpfleet serve", "mcpfleet stdio", "mcpfleet keys", "none"})


@dataclass(frozen=True, slots=True)
class Row:
    """One feature."""

    line: int
    cells: list[str]

    def __str__(self) -> str:
        return f"features.md:{self.line}"

    @property
    def code(self) -> list[str]:
        """What is said to be there, of code."""
        return re.findall(r"`([^`]+)`", self.cells[1])


def rows(text: str) -> Iterator[Row]:
    """Every row of every table but its head and the line below that."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("|") and not line.startswith(("| feature", "| ---")):
            yield Row(number, [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])


def found(name: str) -> Any:
    """What a name of the document means; `AttributeError` or `ImportError` if it means nothing."""
    first, *rest = name.split(".")
    if first in _PREFIXES:
        return reduce(getattr, rest, _PREFIXES[first])
    if first not in ("mcpfleet", "mcpfleet_service"):
        return reduce(getattr, rest, getattr(mcpfleet, first))
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[end:], module)
    raise ImportError(name)


def keywords(callee: Any) -> set[str]:
    """The keywords that a callable takes, by its own account or by that of its options."""
    taken = set(inspect.signature(callee).parameters)
    for name, kind in (("tool", "ToolOptions"), ("prompt", "PromptOptions"), ("resource", "ResourceOptions")):
        if callee is getattr(mcpfleet.Server, name):
            taken |= getattr(options, kind).__optional_keys__
    return taken


def fault(code: str) -> str | None:
    """What is wrong with a piece of code in the column that says where a feature is."""
    if code.startswith(PREFIX):
        known = {variable.name for _, _, variable in variables(Settings)}
        return None if code.removeprefix(PREFIX) in known else "no setting"
    match = _NAME.fullmatch(code)
    if code in _COMMANDS or match is None:
        return None if code in _COMMANDS else "no name"
    try:
        named = found(match[1])
    except (AttributeError, ImportError):
        return "nothing is called so"
    unknown = set(re.findall(r"(\w+)=", match[2] or "")) - (keywords(named) if match[2] else set())
    return f"it takes no {', '.join(sorted(unknown))}" if unknown else None


ROWS: Final = list(rows(DOCUMENT.read_text()))


def test_every_table_has_the_same_columns() -> None:
    heads = re.findall(r"^\| (feature .*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    assert set(heads) == {" | ".join(COLUMNS)}
    assert [str(row) for row in ROWS if len(row.cells) != len(COLUMNS) or not all(row.cells)] == []


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_what_a_row_names_is_there(row: Row) -> None:
    assert {code: words for code in row.code if (words := fault(code)) is not None} == {}


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row_names_tests_that_exist_unless_it_says_that_the_feature_does_not(row: Row) -> None:
    assert missing(row.cells[2]) == []
    assert bool(cited(row.cells[2])) is (row.cells[1] != LATER)


@pytest.mark.parametrize(
    "code",
    [
        "MCPFLEET_NOTHING",
        "mcpfleet.nothing",
        "mcpfleet.server.nothing",
        "mcpfleet.server.server.Nothing",
        "server.nothing",
        "@server.nothing",
        "ctx.nothing",
        "Nothing",
        "Server(nothing=…)",
        "server.tool(nothing=…)",
        "two words",
    ],
)
def test_what_is_not_there_is_found(code: str) -> None:
    assert fault(code) is not None


def test_a_row_is_read_with_its_line_and_a_bar_inside_a_cell() -> None:
    text = "# T\n\n| feature | here |\n| --- | --- |\n| a \\| b | `Server` |\n"
    [row] = rows(text)
    assert (row.line, row.cells, row.code) == (5, ["a \\| b", "`Server`"], ["Server"])
