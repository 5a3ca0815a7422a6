"""The documents: short where they must be, uniform where there are many, and true about the code."""

import re
from pathlib import Path

import pytest

from mcpfleet_service.settings import Settings
from mcpfleet_service.variables import reference
from tests.house import shown
from tests.house.distribution import project
from tests.house.source import ROOT, Source, documents, files, planted

CHANGES = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
DECISIONS = [document for document in documents() if document.path.parent == Path("docs/decisions")]

LOCAL = re.compile(r"(?<![\w.<])/(work|root|home|mnt)/|\bDESIGN\b")
REGISTRY = re.compile(r"\bpypi\.|pythonhosted|npmjs|index-url|proxy\.golang", re.IGNORECASE)


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def private(source: Source) -> list[str]:
    """What makes sense on one machine only: its paths, its notes, and the hosts that it gets packages from."""
    return [found[0] for rule in (LOCAL, REGISTRY) for found in rule.finditer(source.text)]


def targets(document: Source) -> list[str]:
    """The files and directories that a document links to, from the root of the repository."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.text)
    return [str(document.path.parent / link) for link in links if "://" not in link]


def test_the_readme_is_at_most_150_lines() -> None:
    assert len(text_of("README.md").splitlines()) <= 150


def test_the_contributing_guide_is_one_page() -> None:
    assert len(text_of("CONTRIBUTING.md").splitlines()) <= 80


def test_the_settings_are_documented_as_the_code_has_them() -> None:
    """Where this fails, put what `reference` returns in the place of the table."""
    assert text_of("docs/settings.md").endswith(f"\n\n{reference(Settings)}")


def test_the_changelog_begins_with_what_is_not_released_yet() -> None:
    first, *released = re.findall(r"^## (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert first == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading) for heading in released)


def test_the_changelog_sorts_what_it_tells() -> None:
    headings = re.findall(r"^### (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings
    assert set(headings) <= set(CHANGES)


def test_a_released_version_is_in_the_changelog() -> None:
    """Until the first release there is none, and nothing but the unreleased part."""
    released = re.findall(r"^## \[(\d\S*)\]", text_of("CHANGELOG.md"), re.MULTILINE)
    assert not released or released[0] == project()["version"]


@pytest.mark.parametrize("document", DECISIONS, ids=lambda document: document.path.name)
def test_a_decision_tells_its_context_the_choice_and_what_it_costs(document: Source) -> None:
    number = int(document.path.name[:4])
    assert re.fullmatch(r"[0-9]{4}(-[a-z0-9]+)+\.md", document.path.name)
    assert re.match(rf"# {number}\. [A-Z].*[^.]\n\n", document.text)
    assert re.findall(r"^\*\*(\w+)\.\*\* ", document.text, re.MULTILINE) == ["Context", "Choice", "Cost"]
    assert len(document.text.splitlines()) <= 50


def test_decisions_are_numbered_from_one_without_a_gap() -> None:
    assert [int(document.path.name[:4]) for document in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("document", documents(), ids=lambda document: str(document.path))
def test_every_link_inside_the_repository_leads_somewhere(document: Source) -> None:
    assert [target for target in targets(document) if not (ROOT / target).exists()] == []


def test_a_link_is_found_with_or_without_a_fragment() -> None:
    text = "[a](../README.md#start) [b](settings.md) [c](https://example.com/x) [d](#here)"
    assert targets(planted(text, "docs/x.md")) == ["docs/../README.md", "docs/settings.md"]


def test_no_file_tells_where_one_machine_keeps_things_or_gets_its_packages() -> None:
    this = Path(__file__).relative_to(ROOT)
    assert {str(source.path): found for source in files() if source.path != this and (found := private(source))} == {}


@pytest.mark.parametrize(
    "text", ["see /home/me/notes", "as DESIGN has it", "-i https://pypi.example.com", "--index-url x"]
)
def test_what_is_private_is_found(text: str) -> None:
    assert private(planted(text, "docs/x.md"))


def test_no_document_names_a_temporary_directory() -> None:
    assert [str(document.path) for document in documents() if "/tmp" in document.text] == []


def test_every_document_is_reached_from_the_readme() -> None:
    reached, waiting = {"README.md"}, ["README.md"]
    by_path = {str(document.path): document for document in documents()}
    while waiting:
        for target in targets(by_path[waiting.pop()]):
            path = str((ROOT / target).resolve().relative_to(ROOT))
            found = [each for each in by_path if each == path or Path(each).parent == Path(path)]
            waiting += [each for each in found if each not in reached]
            reached.update(found)
    assert sorted(by_path.keys() - reached) == []


def test_the_readme_shows_a_server_in_at_most_twelve_lines() -> None:
    first = next(
        snippet for snippet in shown.snippets() if str(snippet.path) == "README.md" and snippet.language == "python"
    )
    assert len(first.text.splitlines()) <= 12
