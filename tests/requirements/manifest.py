"""What the protocol demands of servers, sentence by sentence, and what each demand rests on here.

`counts.toml` lists the pages that concern a server, and how often each says MUST, MUST NOT, SHALL, SHALL NOT or
REQUIRED in capitals: counted in the page's Markdown from top to bottom, bold or not, in tables too, a negation once.
For each page, `<revision>/<page>.toml` has one row for each of them, in that order, in our own words. The index of the
specification, its changelog and its schema reference are not among them: they define the words, or repeat the pages.
The extension for tasks is, as a page of the revision that it extends.

A row has one of these verdicts:

- `tests`: the tests that prove it; each of them fails if the requirement is broken.
- `not_ours`: why it binds somebody else, such as clients or the author of a tool.
- `pending`: the feature that it waits for, which is still to come. Nothing shows yet that the requirement is kept, or,
  with `tests` beside it, only these show a part. The row gets its tests with the feature.
"""

import ast
import tomllib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
MAX_WORDS: Final = 200
"""How many characters a paraphrase may have."""


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One MUST of a page; `section` is the heading above it, `says` what it demands, in our words."""

    ordinal: int
    section: str
    party: Literal["server", "client", "both", "authorization server", "other"]
    says: str
    tests: tuple[str, ...] = ()
    not_ours: str | None = None
    pending: str | None = None


class Page(msgspec.Struct, frozen=True):
    """One page of one revision, and how many MUSTs the published page has."""

    revision: str
    name: str
    count: int
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        return f"{self.revision}/{self.name}"


@cache
def pages() -> tuple[Page, ...]:
    """Every page that concerns a server; one without any MUST needs no file."""
    counts = msgspec.convert(tomllib.loads((HERE / "counts.toml").read_text()), dict[str, dict[str, int]])
    return tuple(
        Page(revision, name, count, tuple(_rows(HERE / revision / f"{name}.toml")))
        for revision, named in counts.items()
        for name, count in named.items()
    )


def faults(page: Page, known: AbstractSet[str]) -> Iterator[str]:
    """What is wrong with a page, in words; `known` are the tests that there are."""
    ordinals = [row.ordinal for row in page.rows]
    if ordinals != list(range(1, page.count + 1)):
        yield f"{page}: the rows are not numbered 1 to {page.count}, one each, in order"
    for row in page.rows:
        for fault in _faults(row, known):
            yield f"{page} #{row.ordinal}: {fault}"


@cache
def known_tests() -> frozenset[str]:
    """Every test function of the repository, as `path::name`."""
    return frozenset(
        f"{path.relative_to(ROOT).as_posix()}::{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


def _faults(row: Row, known: AbstractSet[str]) -> Iterator[str]:
    verdicts = (bool(row.tests), row.not_ours is not None, row.pending is not None)
    if verdicts not in {(True, False, False), (False, True, False), (False, False, True), (True, False, True)}:
        yield "it needs tests, or `not_ours`, or `pending`"
    texts = [text for text in (row.section, row.says, row.not_ours, row.pending) if text is not None]
    if not all(text.strip() == text != "" for text in texts):
        yield "a text is empty or has blanks around it"
    if len(row.says) > MAX_WORDS:
        yield f"it says more than {MAX_WORDS} characters"
    for test in row.tests:
        if test not in known:
            yield f"there is no test {test}"
    if len(set(row.tests)) != len(row.tests):
        yield "a test is named twice"


def _rows(file: Path) -> Iterator[Row]:
    if file.exists():
        yield from msgspec.convert(tomllib.loads(file.read_text()), dict[str, tuple[Row, ...]]).get("row", ())
