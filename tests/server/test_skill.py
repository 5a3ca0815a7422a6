"""What files make a skill, and what is told of it (the extension `io.modelcontextprotocol/skills`)."""

import base64
import hashlib
import sys
from collections.abc import Mapping
from typing import cast

import pytest

from mcpfleet import RegistrationError
from mcpfleet.protocol import jsontext
from mcpfleet.protocol.messages.skills import SkillResource
from mcpfleet.server.skill import ServedSkill, compile_skills
from tests.server.skills import manifest


def compiled(files: Mapping[str, str | bytes], prefix: str = "") -> list[ServedSkill]:
    read = {tuple(path.split("/")): text if isinstance(text, bytes) else text.encode() for path, text in files.items()}
    return compile_skills(read, prefix)


def test_a_skill_lists_every_file_once_and_its_own_first() -> None:
    """The extension, "Resources": complete, with the digest and size of the raw bytes."""
    files: dict[str, str | bytes] = {
        "pdf/b/x.txt": "é",
        "pdf/SKILL.md": manifest("pdf"),
        "pdf/a.bin": b"\xff\0",
        "pdf/B.md": "",
    }
    [skill] = compiled(files)
    assert skill.definition.uri == "skill://pdf/SKILL.md"
    order = ["SKILL.md", "B.md", "a.bin", "b/x.txt"]
    content = [files[f"pdf/{name}"] for name in order]
    raw = [each if isinstance(each, bytes) else each.encode() for each in content]
    assert skill.definition.resources == tuple(
        SkillResource(uri=f"skill://pdf/{name}", digest=f"sha256:{hashlib.sha256(data).hexdigest()}", size=len(data))
        for name, data in zip(order, raw, strict=True)
    )


def test_the_frontmatter_is_told_whole() -> None:
    """The extension, "Frontmatter": every field that the author wrote."""
    more = "license: MIT\nmetadata: {version: '1.0', date: 2026-01-31}\nallowed-tools: [Read]\nunknown: ~\n"
    [skill] = compiled({"pdf/SKILL.md": manifest("pdf", "'Reads: PDFs'", more)})
    assert skill.definition.frontmatter == {
        "name": "pdf",
        "description": "Reads: PDFs",
        "license": "MIT",
        "metadata": {"version": "1.0", "date": "2026-01-31"},
        "allowed-tools": ["Read"],
        "unknown": None,
    }


def test_a_manifest_is_described_by_its_frontmatter_and_any_other_file_by_its_name() -> None:
    """The extension, "Resource Metadata"."""
    text = manifest("pdf", "Reads PDFs.")
    [skill] = compiled({"pdf/SKILL.md": text, "pdf/run.py": "1"})
    first, second = (jsontext.plain(file.definition) for file in skill.files.values())
    uri = "skill://pdf/SKILL.md"
    assert skill.manifest is skill.files[uri]
    assert first == {
        "uri": uri,
        "name": "pdf",
        "description": "Reads PDFs.",
        "mimeType": "text/markdown",
        "size": len(text),
    }
    assert second == {"uri": "skill://pdf/run.py", "name": "run.py", "mimeType": "text/x-python", "size": 1}


@pytest.mark.parametrize(
    ("name", "data", "mime_type", "is_text"),
    [
        ("run.sh", b"echo", "application/x-sh", True),
        ("LICENSE", b"MIT", "text/plain", True),
        ("LICENSE", b"\xff", "application/octet-stream", False),
        ("a.md", "ü\r\n".encode(), "text/markdown", True),
        ("a.md", b"\xfc", "text/markdown", False),
        ("a.txt", b"a\0b", "text/plain", False),
        ("a.png", b"\x89PNG", "image/png", False),
        ("empty", b"", "text/plain", True),
        ("bom.txt", b"\xef\xbb\xbfa", "text/plain", True),
    ],
)
def test_what_is_utf_8_is_text_and_the_rest_a_blob(name: str, data: bytes, mime_type: str, is_text: bool) -> None:
    """Either way the client gets the very bytes that the digest is of."""
    [skill] = compiled({"pdf/SKILL.md": manifest("pdf"), f"pdf/{name}": data})
    contents = skill.files[f"skill://pdf/{name}"].contents
    assert contents.mime_type == mime_type
    assert (contents.text is not None) is is_text
    assert data == (base64.b64decode(contents.blob or "") if contents.text is None else contents.text.encode())


def test_skills_lie_at_any_depth_and_in_each_other_and_are_listed_by_their_paths() -> None:
    """The extension, "Nested Skills": the files of the inner one are files of the outer one as well."""
    outer, inner = "acme/b/SKILL.md", "acme/b/parts/c/SKILL.md"
    files = {inner: manifest("c"), "acme/b/parts/c/x": "", outer: manifest("b"), "acme/a/SKILL.md": manifest("a")}
    first, second, third = compiled(files)
    assert [*first.files] == ["skill://acme/a/SKILL.md"]
    assert [*second.files] == [f"skill://{path}" for path in (outer, inner, "acme/b/parts/c/x")]
    assert [*third.files] == [f"skill://{path}" for path in (inner, "acme/b/parts/c/x")]
    assert second.files[third.definition.uri] is third.manifest
    assert [skill.touches(third) for skill in (first, second, third)] == [False, True, True]
    assert third.touches(second)


def test_a_skill_beside_another_of_a_longer_name_does_not_touch_it() -> None:
    short, long = compiled({"pdf/SKILL.md": manifest("pdf"), "pdf-2/SKILL.md": manifest("pdf-2")})[::-1]
    assert not short.touches(long)
    assert not long.touches(short)


def test_each_directory_tells_what_is_right_below_it() -> None:
    """The extension, "Reading Directories"."""
    files = ("SKILL.md", "a/x.txt", "a/deep/er/y.txt", "b.txt")
    [skill] = compiled({f"pdf/{name}": manifest("pdf") if name == "SKILL.md" else "" for name in files})
    root = "skill://pdf"
    assert [*skill.directories] == [root, f"{root}/a", f"{root}/a/deep", f"{root}/a/deep/er"]
    assert [one.uri for one in skill.directories[root]] == [f"{root}/{name}" for name in ("SKILL.md", "a", "b.txt")]
    assert [one.uri for one in skill.directories[f"{root}/a"]] == [f"{root}/a/deep", f"{root}/a/x.txt"]
    assert [one.uri for one in skill.directories[f"{root}/a/deep/er"]] == [f"{root}/a/deep/er/y.txt"]
    directory = jsontext.plain(skill.directories[root][1])
    assert directory == {"uri": f"{root}/a", "name": "a", "mimeType": "inode/directory"}
    assert skill.directories[root][0] is skill.manifest.definition


def test_a_prefix_is_a_path_before_that_of_every_skill() -> None:
    """The extension, "Resource Mapping": the last segment stays the name."""
    [skill] = compiled({"pdf/SKILL.md": manifest("pdf"), "pdf/x y": ""}, "acme/off ice")
    assert [*skill.files] == ["skill://acme/off%20ice/pdf/SKILL.md", "skill://acme/off%20ice/pdf/x%20y"]
    assert [*skill.directories] == ["skill://acme/off%20ice/pdf"]


@pytest.mark.parametrize("prefix", ["/", "/acme", "acme/", "a//b", ".", "a/../b"])
def test_a_prefix_that_is_no_path_is_refused(prefix: str) -> None:
    with pytest.raises(RegistrationError, match="is no path, such as acme/billing"):
        compiled({"pdf/SKILL.md": manifest("pdf")}, prefix)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# PDF", "must be UTF-8, and begin with YAML frontmatter between two lines ---"),
        (b"---\nname: pdf\ndescription: \xff\n---\n", "must be UTF-8"),
        ("---\nname: pdf\nname: pdf\n---\n", "line 3: 'name' is there already"),
        ("---\ndescription: Reads.\n---\n", "its name must be words"),
        (manifest("PDF"), "its name must be words"),
        (manifest("12"), "its name must be words"),
        (manifest("other"), "its name is 'other', and must be that of its directory"),
        ("---\nname: pdf\n---\n", "its description must be a text of 1 to 1024"),
        (manifest("pdf", "[a]"), "its description must be a text"),
        (manifest("pdf", "' '"), "its description must be a text"),
        (manifest("pdf", "x" * 1025), "its description must be a text"),
        (manifest("pdf", '"\\ud800"'), "the skill pdf/SKILL.md: "),
    ],
)
def test_a_skill_that_hosts_would_not_take_is_refused(text: str | bytes, words: str) -> None:
    with pytest.raises(RegistrationError, match=r"^the skill pdf/SKILL\.md") as refused:
        compiled({"pdf/SKILL.md": text})
    assert words in str(refused.value)


def test_a_description_may_be_as_long_as_the_bound() -> None:
    assert compiled({"pdf/SKILL.md": manifest("pdf", "x" * 1024)})


def test_without_pyyaml_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mcpfleet.server.frontmatter", raising=False)
    monkeypatch.setitem(cast("dict[str, None]", sys.modules), "yaml", None)
    with pytest.raises(RegistrationError, match=r"^skills need PyYAML, which pip install 'mcpfleet\[skills\]' brings"):
        compiled({"pdf/SKILL.md": manifest("pdf")})
