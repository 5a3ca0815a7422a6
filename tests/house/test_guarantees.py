"""docs/guarantees.md: each promise, and each thing that breaks, with tests that exist."""

import re
from typing import Final

import pytest

from tests.house.cited import cited, missing
from tests.house.source import ROOT

TEXT: Final = (ROOT / "docs/guarantees.md").read_text()
PROMISES: Final = re.findall(r"^### (\d+)\. .*\n((?:(?!#).*\n)+)", TEXT, re.MULTILINE)
BREAKS: Final = re.findall(r"^\| (?!what happens|---)(.*?) \| .* \| (.*) \|$", TEXT, re.MULTILINE)
LATER: Final = "Not there yet."


def test_every_promise_is_there() -> None:
    assert [int(number) for number, _ in PROMISES] == [*range(1, 12)]
    assert len(BREAKS) >= 20


@pytest.mark.parametrize(("what", "text"), [*PROMISES, *BREAKS])
def test_what_is_promised_is_shown_by_a_test_or_not_there_yet(what: str, text: str) -> None:
    assert bool(cited(text)) is (text.strip() != LATER)


def test_every_test_that_is_cited_exists() -> None:
    assert missing(TEXT) == []


def test_a_test_that_does_not_exist_is_missed() -> None:
    here = "house/test_guarantees.py::test_a_test_that_does_not_exist_is_missed"
    assert missing(f"`{here}`") == []
    for wrong in (f"{here}_at_all", here.replace("guarantees", "nothing")):
        assert missing(f"`{wrong}`") == [wrong]
