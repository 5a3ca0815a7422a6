"""Whoever silences a checker says of what and why, beside it."""

import re
from collections.abc import Iterator

import pytest

from tests.house.source import Source, broken, modules, planted

SILENCED = re.compile(r"#\s*(noqa|type:\s*ignore|pragma:\s*no)\b")
EXCUSED = re.compile(
    r"#\s*(noqa:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|type:\s*ignore\[[a-z-]+(,\s*[a-z-]+)*\]|pragma:\s*no (cover|branch))"
    r"\s*[#-]\s*(?P<why>\w.*)"
)


def unexcused(source: Source) -> Iterator[tuple[int, str]]:
    for number, comment in source.comments():
        if SILENCED.search(comment) and not EXCUSED.search(comment):
            yield number, comment


def test_every_checker_that_is_silenced_is_told_why() -> None:
    assert broken(unexcused, modules()) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: BLE001",
        "# noqa - it is fine",
        "# type: ignore",
        "# type: ignore  # it is fine",
        "# type: ignore[misc]",
        "# pragma: no cover",
    ],
)
def test_a_silenced_checker_without_a_reason_is_found(comment: str) -> None:
    assert [line for line, _ in unexcused(planted(f"x = 1\ny = 2  {comment}\n"))] == [2]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: BLE001, S110 - the boundary",
        "# noqa: S104  # compared, not bound",
        "# type: ignore[misc]  # the point of the test",
        "# pragma: no cover - another platform",
        "# a word about noqa's ways",
    ],
)
def test_a_reason_is_accepted_in_either_spelling(comment: str) -> None:
    assert broken(unexcused, [planted(f"y = 2  {comment}\n")]) == []
