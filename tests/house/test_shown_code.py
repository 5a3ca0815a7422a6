"""Whatever the documents show as code runs, as it is written there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import shown
from tests.house.shown import Snippet
from tests.house.source import ROOT, documents, planted

LANGUAGES = {"json", "mermaid", "python", "sh", "text", "toml"}
SECONDS = 60

PYTHON = [snippet for snippet in shown.snippets() if snippet.language == "python"]
STANDING = [snippet for snippet in PYTHON if not snippet.quotes]
QUOTING = [snippet for snippet in PYTHON if snippet.quotes]


@pytest.mark.parametrize("snippet", STANDING, ids=str)
def test_a_python_snippet_runs_as_it_is(snippet: Snippet, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet.text],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("snippet", QUOTING, ids=str)
def test_a_quotation_is_literal_and_of_a_file_that_runs(snippet: Snippet) -> None:
    assert re.fullmatch(r"examples/\w+\.py|tests/(\w+/)*test_\w+\.py", snippet.quotes)
    assert snippet.text in (ROOT / snippet.quotes).read_text()


def test_every_command_shown_is_run() -> None:
    assert sorted(set(shown.commands()) - shown.tested_commands()) == []


def test_every_snippet_names_a_language_that_is_known_here() -> None:
    """An unknown one would hide code from these tests."""
    assert [str(snippet) for snippet in shown.snippets() if snippet.language not in LANGUAGES] == []


def test_no_fence_hides_a_snippet_from_these_tests() -> None:
    """Tildes, indented fences and fences that stay open are other ways to show code, which these tests do not read."""
    for document in documents():
        assert len(re.findall(r"^\s*(```|~~~)", document.text, re.MULTILINE)) == 2 * len(shown.snippets([document]))


def test_snippets_are_found_with_language_quotation_and_line() -> None:
    text = "# Title\n\n```python examples/weather.py\nx = 1\n```\n\n```sh\n# why\nmake it  # so\n\nmake more\n```\n"
    document = planted(text, "docs/planted.md")
    code, shell = shown.snippets([document])
    assert (code.language, code.quotes, code.text, str(code)) == (
        "python",
        "examples/weather.py",
        "x = 1\n",
        "docs/planted.md:3",
    )
    assert (shell.language, shell.quotes, shell.line) == ("sh", "", 7)
    assert shown.commands([document]) == ["make it", "make more"]


def test_a_command_that_no_document_shows_cannot_be_taken() -> None:
    line = "make nothing"
    with pytest.raises(AssertionError, match="no document shows 'make nothing'"):
        shown.command(line)
