"""What of a folder is read, and what is not, however the folder is made."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mcpfleet import RegistrationError
from mcpfleet.protocol.skills import MAX_BYTES, MAX_FILES
from mcpfleet.server import skillfolder
from tests.server.skills import manifest, written

PDF = {"pdf/SKILL.md": manifest("pdf")}


def paths(folder: Path) -> list[str]:
    return sorted("/".join(path) for path in skillfolder.read(folder))


def test_only_what_is_in_a_skill_is_read(tmp_path: Path) -> None:
    written(tmp_path, {**PDF, "pdf/a/b": "b", "README.md": "", "other/notes.txt": "", "acme/x/SKILL.md": manifest("x")})
    assert paths(tmp_path) == ["acme/x/SKILL.md", "pdf/SKILL.md", "pdf/a/b"]
    assert skillfolder.read(tmp_path)["pdf", "a", "b"] == b"b"


def test_hidden_files_and_what_python_leaves_behind_are_left_out(tmp_path: Path) -> None:
    left_out = ["pdf/.env", "pdf/.git/config", ".hidden/SKILL.md", "pdf/__pycache__/run.pyc"]
    written(tmp_path, {**PDF, **dict.fromkeys(left_out, "")})
    assert paths(tmp_path) == ["pdf/SKILL.md"]


def test_a_folder_may_be_a_skill_itself(tmp_path: Path) -> None:
    written(tmp_path, {**PDF, "pdf/a": "", "pdf/inner/SKILL.md": manifest("inner")})
    assert paths(tmp_path / "pdf") == ["pdf/SKILL.md", "pdf/a", "pdf/inner/SKILL.md"]


def test_a_directory_called_like_the_manifest_makes_no_skill(tmp_path: Path) -> None:
    written(tmp_path, {**PDF, "other/SKILL.md/text": ""})
    assert paths(tmp_path) == ["pdf/SKILL.md"]


def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    """As a mounted volume of Kubernetes has them, whose directories are links to hidden ones."""
    written(tmp_path, {"..data/pdf/SKILL.md": manifest("pdf"), "..data/pdf/a": "a"})
    (tmp_path / "pdf").symlink_to("..data/pdf")
    (tmp_path / "..data/pdf/same").symlink_to("a")
    assert paths(tmp_path) == ["pdf/SKILL.md", "pdf/a", "pdf/same"]
    assert skillfolder.read(tmp_path)["pdf", "same"] == b"a"


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    written(tmp_path / "real", PDF)
    (tmp_path / "link").symlink_to("real")
    assert paths(tmp_path / "link") == ["pdf/SKILL.md"]


@pytest.mark.parametrize("target", ["../secret.txt", "../secrets", "/etc/passwd", "../skills-of-others/x"])
@pytest.mark.parametrize("place", ["pdf/link", "link"])
def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path, target: str, place: str) -> None:
    written(tmp_path, {"secret.txt": "hunter2", "secrets/a": "hunter2", "skills-of-others/x": ""})
    folder = written(tmp_path / "skills", PDF)
    (folder / place).symlink_to(target if target.startswith("/") else tmp_path / target.removeprefix("../"))
    with pytest.raises(RegistrationError, match="leads out of the folder"):
        skillfolder.read(folder)


@pytest.mark.parametrize("target", [".", "..", "../pdf", "../other"])
def test_a_link_that_leads_in_a_circle_is_refused(tmp_path: Path, target: str) -> None:
    written(tmp_path, {**PDF, "other/a": ""})
    (tmp_path / "other/back").symlink_to("../pdf")
    (tmp_path / "pdf/link").symlink_to(target)
    with pytest.raises(RegistrationError, match="leads in a circle"):
        skillfolder.read(tmp_path)


@pytest.mark.parametrize("target", ["nowhere", "link"])
def test_a_link_that_leads_nowhere_is_refused(tmp_path: Path, target: str) -> None:
    written(tmp_path, PDF)
    (tmp_path / "pdf/link").symlink_to(target)
    with pytest.raises(RegistrationError, match=r"cannot be read: .*link"):
        skillfolder.read(tmp_path)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    written(tmp_path, PDF)
    os.mkfifo(tmp_path / "pdf/pipe")
    with pytest.raises(RegistrationError, match="pipe is no file"):
        skillfolder.read(tmp_path)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    written(tmp_path, PDF)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/pdf/\xff")).touch()
    with pytest.raises(RegistrationError, match=r"'\\udcff' is no UTF-8"):
        skillfolder.read(tmp_path)


def test_a_folder_without_skills_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {"pdf/skill.md": manifest("pdf")})
    with pytest.raises(RegistrationError, match=r"no skill in .*: no directory with a SKILL\.md"):
        skillfolder.read(tmp_path)


@pytest.mark.parametrize("make", [lambda place: None, lambda place: place.touch()], ids=["nothing", "a file"])
def test_what_is_no_folder_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "skills")
    with pytest.raises(RegistrationError, match="cannot be read: "):
        skillfolder.read(tmp_path / "skills")


def test_a_skill_has_no_more_files_than_a_host_would_take(tmp_path: Path) -> None:
    """The extension, "Limits"; nested ones count."""
    names = [f"pdf/{number}" for number in range(MAX_FILES - 2)]
    written(
        tmp_path, {**PDF, "pdf/in/SKILL.md": manifest("in"), **dict.fromkeys(names, ""), "b/SKILL.md": manifest("b")}
    )
    assert len(paths(tmp_path)) == MAX_FILES + 1
    written(tmp_path, {"pdf/in/one": ""})
    with pytest.raises(RegistrationError, match=f"the skill pdf has more than {MAX_FILES} files"):
        skillfolder.read(tmp_path)


def sized(path: Path, size: int) -> None:
    """Make a file of so many bytes, without writing them."""
    with path.open("wb") as file:
        file.truncate(size)


def test_a_skill_has_no_more_bytes_than_a_host_would_take(tmp_path: Path) -> None:
    written(tmp_path, {**PDF, "b/SKILL.md": manifest("b")})
    sized(tmp_path / "pdf/large", MAX_BYTES - len(manifest("pdf")))
    assert len(paths(tmp_path)) == 3
    sized(tmp_path / "pdf/large", MAX_BYTES - len(manifest("pdf")) + 1)
    with pytest.raises(RegistrationError, match=f"the skill pdf has more than {MAX_BYTES} bytes"):
        skillfolder.read(tmp_path)


def test_all_skills_of_a_folder_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, {**PDF, "b/SKILL.md": manifest("b")})
    both = len(manifest("pdf") + manifest("b"))
    monkeypatch.setattr(skillfolder, "MAX_TOTAL_BYTES", both)
    assert len(paths(tmp_path)) == 2
    monkeypatch.setattr(skillfolder, "MAX_TOTAL_BYTES", both - 1)
    with pytest.raises(RegistrationError, match=f"have more than {both - 1} bytes together"):
        skillfolder.read(tmp_path)


def test_a_folder_is_not_searched_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hidden, or in no skill, counts as well."""
    written(tmp_path, {**PDF, ".hidden": "", "other/x": ""})
    monkeypatch.setattr(skillfolder, "MAX_ENTRIES", 5)
    assert paths(tmp_path) == ["pdf/SKILL.md"]
    monkeypatch.setattr(skillfolder, "MAX_ENTRIES", 4)
    with pytest.raises(RegistrationError, match="has more than 4 files and directories"):
        skillfolder.read(tmp_path)
