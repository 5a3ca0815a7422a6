"""URIs, and templates of them: RFC 6570, level 1 ("Resources", section "Resource Templates").

A template is matched segment by segment, so a variable never crosses a `/`, and in time linear in the URI's length
whatever was sent. Where a segment can be read in several ways, variables on the left are as short as can be.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from mcpfleet.errors import RegistrationError

_URI: Final = re.compile(r'[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f<>"{}|\\^`]*')
"""A scheme, and then anything but what RFC 3986 excludes; beyond ASCII, IRIs are taken (RFC 3987)."""
_EXPRESSION: Final = re.compile(r"\{([^{}]*)\}")
_VARIABLE: Final = re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*")
_DOTS: Final = frozenset({".", ".."})


def is_uri(text: str) -> bool:
    """Whether a text is an absolute URI."""
    return _URI.fullmatch(text) is not None


def is_url(text: str) -> bool:
    """Whether a text is a URI of some host, which a browser could open."""
    try:
        return is_uri(text) and bool(urlsplit(text).hostname)
    except ValueError:
        return False


def has_dot_segments(uri: str) -> bool:
    """Whether `.` or `..` is a segment of a URI, percent-encoded or not: it then stands for another place than it seems
    to (RFC 3986, section 6.2.2.3)."""
    path = unquote(uri.partition(":")[2].partition("#")[0].partition("?")[0])
    return not _DOTS.isdisjoint(re.split(r"[/\\]", path))


def is_template(text: str) -> bool:
    """Whether a text has braces, so that it can only be a template."""
    return "{" in text or "}" in text


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A template, parsed once.

    One with an expression beyond level 1 (`{+path}`, `{?query}`, `{a,b}`) is only a text to show: `simple` is false,
    and no URI matches it.
    """

    text: str
    variables: tuple[str, ...]
    simple: bool
    _segments: tuple[Sequence[str], ...]
    """Of each segment its literals and, between them, the names of its variables."""

    def match(self, uri: str) -> dict[str, str] | None:
        """What each variable stands for in the URI, as it came and not percent-decoded; None if it does not match.

        A value has at least one character. It is never a dot segment, which stands for another place in the tree (RFC
        3986, section 5.2.4).
        """
        segments = uri.split("/")
        if not self.simple or len(segments) != len(self._segments):
            return None
        values: dict[str, str] = {}
        for parts, segment in zip(self._segments, segments, strict=True):
            if not _read(parts, segment, values):
                return None
        return values


def parse(text: str) -> UriTemplate:
    """A template from its text; `RegistrationError` for one that is none, or that could be read in too many ways."""
    parts = _EXPRESSION.split(text)
    literals, expressions = parts[::2], parts[1::2]
    if any("{" in literal or "}" in literal for literal in literals):
        raise RegistrationError(f"the URI template {text!r} has a brace without its other half")
    if not is_uri(_EXPRESSION.sub("x", text)):
        raise RegistrationError(f"the URI template {text!r} is no template of absolute URIs, such as users://{{id}}")
    variables = tuple(name for name in expressions if _VARIABLE.fullmatch(name))
    if len(set(variables)) != len(variables):
        raise RegistrationError(f"the URI template {text!r} has a variable twice")
    simple = len(variables) == len(expressions)
    if simple and "" in literals[1:-1]:
        raise RegistrationError(f"the URI template {text!r} has two variables with nothing between them")
    return UriTemplate(text, variables, simple, tuple(_EXPRESSION.split(each) for each in text.split("/")))


def _read(parts: Sequence[str], segment: str, values: dict[str, str]) -> bool:
    """Read one segment into `values`; whether it matches."""
    if len(parts) == 1:
        return segment == parts[0]
    first, last = parts[0], parts[-1]
    if not (segment.startswith(first) and segment.endswith(last) and len(segment) > len(first) + len(last)):
        return False
    rest = segment[len(first) : len(segment) - len(last)]
    for name, literal in zip(parts[1:-2:2], parts[2:-1:2], strict=True):
        at = rest.find(literal, 1)
        if at < 0:
            return False
        values[name], rest = rest[:at], rest[at + len(literal) :]
    values[parts[-2]] = rest
    return rest != "" and segment not in _DOTS
