"""Every requirement of the protocol's pages rests on a test, or on a reason; what waits is counted."""

from collections import Counter
from typing import Any, Final

import msgspec
import pytest

from tests.requirements.manifest import HERE, Page, Row, faults, known_tests, pages

PENDING: Final = {
    "access and limits": 6,
    "access tokens": 44,
}
"""How many rows wait for which feature; these numbers may only go down."""


@pytest.mark.parametrize("page", pages(), ids=str)
def test_a_page_has_a_row_for_each_requirement_and_each_row_a_verdict(page: Page) -> None:
    assert list(faults(page, known_tests())) == []


def test_every_file_belongs_to_a_page() -> None:
    files = {str(file.relative_to(HERE).with_suffix("")) for file in HERE.rglob("*.toml")} - {"counts"}
    assert files == {str(page) for page in pages() if page.count}


def test_no_more_rows_wait_than_are_known_to() -> None:
    waiting = Counter(row.pending for page in pages() for row in page.rows if row.pending is not None)
    print(f"{waiting.total()} of {sum(page.count for page in pages())} requirements wait:")
    for feature, count in waiting.most_common():
        print(f"{count:4} {feature}")
    assert waiting == PENDING


KNOWN: Final = frozenset({"tests/test_a.py::test_a"})
SOUND: Final = Row(1, "A section", "server", "it does", tests=("tests/test_a.py::test_a",))
SOUND_REASON: Final = Row(2, "A section", "client", "it does", not_ours="binds clients")
SOUND_WAIT: Final = Row(3, "A section", "server", "it does", pending="a feature")
SOUND_PART: Final = Row(4, "A section", "server", "it does", tests=SOUND.tests, pending="a feature")


def test_a_sound_page_has_no_faults() -> None:
    rows = (SOUND, SOUND_REASON, SOUND_WAIT, SOUND_PART)
    assert list(faults(Page("r", "p", 4, rows), KNOWN)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tests": ()}, "it needs tests"),
        ({"not_ours": "binds clients"}, "it needs tests"),
        ({"tests": (), "not_ours": "binds clients", "pending": "a feature"}, "it needs tests"),
        ({"tests": (), "not_ours": ""}, "is empty"),
        ({"tests": (), "pending": " "}, "is empty"),
        ({"says": ""}, "is empty"),
        ({"says": "x" * 201}, "more than 200"),
        ({"tests": ("tests/test_a.py::test_b",)}, "there is no test"),
        ({"tests": ("tests/test_a.py",)}, "there is no test"),
        ({"tests": SOUND.tests * 2}, "named twice"),
        ({"ordinal": 2}, "not numbered"),
    ],
)
def test_a_fault_of_a_row_is_found(changes: dict[str, Any], words: str) -> None:
    (fault,) = faults(Page("r", "p", 1, (msgspec.structs.replace(SOUND, **changes),)), KNOWN)
    assert words in fault


@pytest.mark.parametrize(("count", "rows"), [(2, (SOUND,)), (0, (SOUND,)), (2, (SOUND, SOUND)), (1, ())])
def test_a_row_too_many_or_too_few_is_found(count: int, rows: tuple[Row, ...]) -> None:
    (fault,) = faults(Page("r", "p", count, rows), KNOWN)
    assert f"numbered 1 to {count}" in fault


@pytest.mark.parametrize(
    "row",
    [
        {"ordinal": 1, "section": "s", "party": "nobody", "says": "x", "not_ours": "y"},
        {"ordinal": 1, "section": "s", "party": "server", "says": "x", "not_our": "y"},
        {"ordinal": "1", "section": "s", "party": "server", "says": "x", "not_ours": "y"},
    ],
)
def test_a_row_with_a_misspelt_word_is_not_read(row: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(row, Row)
