"""What a docstring says of a function's arguments, in any of the three usual styles."""

import inspect
import re
from collections.abc import Collection
from itertools import takewhile
from typing import Final

_GOOGLE: Final = re.compile(r"(?:Args|Arguments|Parameters|Params):")
_NUMPY: Final = re.compile(r"(?:Other )?Parameters")
_RULE: Final = re.compile(r"-{3,}")
_SPHINX: Final = re.compile(r":(?:param|parameter|arg|argument)\s(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)")
_GOOGLE_ITEM: Final = re.compile(r"\*{0,2}(\w+)(?:\s*\(.*?\))?\s*:\s*(.*)")
_NUMPY_ITEM: Final = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?()")

Section = tuple[dict[str, str], int]
"""What each argument is said to be, and how many lines say it."""


def read(docstring: str | None, names: Collection[str]) -> tuple[str | None, dict[str, str]]:
    """The text of a docstring without its argument section, and what that section says of each of the `names`.

    A section that names none of them stays in the text: it is about something else.
    """
    lines = inspect.cleandoc(docstring or "").splitlines()
    text: list[str] = []
    found: dict[str, str] = {}
    while lines:
        said, length = _section(lines)
        said = {name: words for name, words in said.items() if name in names}
        if said:
            found |= said
            del lines[:length]
        else:
            text.append(lines.pop(0))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(text)).strip() or None, found


def _section(lines: list[str]) -> Section:
    """The argument section that begins on the first line; empty if none does."""
    first = lines[0]
    if _GOOGLE.fullmatch(first):
        body = list(takewhile(_is_inside, lines[1:]))
        return _items(body, _GOOGLE_ITEM), 1 + len(body)
    if _NUMPY.fullmatch(first) and len(lines) > 1 and _RULE.fullmatch(lines[1]):
        rest = [*lines[2:], "", ""]
        body = [rest[at] for at in takewhile(lambda at: not _RULE.fullmatch(rest[at + 1]), range(len(rest) - 2))]
        return _items(body, _NUMPY_ITEM), 2 + len(body)
    if match := _SPHINX.fullmatch(first):
        body = list(takewhile(lambda line: line.strip() and _is_inside(line), lines[1:]))
        return {match[1]: _joined([match[2], *body])}, 1 + len(body)
    return {}, 0


def _items(body: list[str], item: re.Pattern[str]) -> dict[str, str]:
    margin = min((_indent(line) for line in body if line.strip()), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in body:
        match = item.fullmatch(line.strip()) if _indent(line) == margin else None
        if match:
            current = [match[2]]
            found |= dict.fromkeys(re.findall(r"\w+", match[1]), current)
        else:
            current.append(line)
    return {name: words for name, lines in found.items() if (words := _joined(lines))}


def _is_inside(line: str) -> bool:
    return not line.strip() or line[0].isspace()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
