"""The words of the skills extension."""

import pytest

from mcpfleet.protocol import skills, uris


@pytest.mark.parametrize("name", ["a", "7", "pdf-forms", "a-1-b", "x" * 64])
def test_words_with_hyphens_between_name_a_skill(name: str) -> None:
    """Agent Skills, "name field"."""
    assert skills.is_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "a--b", "A", "a_b", "a b", "ä", "a/b", "a\n", "x" * 65])
def test_nothing_else_does(name: str) -> None:
    assert not skills.is_name(name)


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (("refunds",), "skill://refunds"),
        (("acme", "refunds", "SKILL.md"), "skill://acme/refunds/SKILL.md"),
        (("a b", "ü", "50%", "x?y#z", "a:b@c", "[1]\\"), "skill://a%20b/%C3%BC/50%25/x%3Fy%23z/a%3Ab%40c/%5B1%5D%5C"),
        (("a.b-c_d~e", "!$&'()*+,;="), "skill://a.b-c_d~e/!$&'()*+,;="),
    ],
)
def test_a_path_has_one_uri_whatever_is_in_its_names(path: tuple[str, ...], uri: str) -> None:
    """The extension, "Resource Mapping"; RFC 3986, sections 2.1 and 3.2.2."""
    assert skills.uri(path) == uri
    assert uris.is_uri(uri)


def test_a_digest_is_of_the_bytes_in_lower_case() -> None:
    """The extension, "Integrity and Verification"."""
    assert skills.digest(b"abc") == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("---\na: 1\n---\n# Title", "a: 1\n"),
        ("---\r\na: 1\r\n---\r\n# Title", "a: 1\r\n"),
        ("---\na: 1\n--- \t", "a: 1\n"),
        ("---\na: |\n  ---\n---b: 2\n---\n---\n", "a: |\n  ---\n---b: 2\n"),
        ("---\n---\n", ""),
    ],
)
def test_frontmatter_is_between_the_first_two_lines_of_dashes(text: str, found: str) -> None:
    assert skills.frontmatter(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "# Title", "\n---\na: 1\n---\n", "\ufeff---\na: 1\n---\n", "---\na: 1\n", "--- a\n---\n", "---\na ---\n"],
)
def test_a_text_that_does_not_begin_so_has_none(text: str) -> None:
    assert skills.frontmatter(text) is None
