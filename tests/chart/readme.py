"""The table in the chart's README, made of `values.yaml`: `python -m tests.chart.readme` writes it."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tests.chart.helm import CHART

README: Final = CHART / "README.md"
BEGIN: Final = "<!-- values -->\n"

_LINE: Final = re.compile(r"(?P<indent> *)(?P<key>\w+):")


def described() -> Iterator[tuple[str, str]]:
    """Each described value, by its dotted name, with the description above it."""
    path: list[tuple[int, str]] = []
    words: list[str] = []
    for line in (CHART / "values.yaml").read_text().splitlines():
        text = line.strip()
        if text.startswith("# --"):
            words = [text.removeprefix("# --").strip()]
        elif text.startswith("#") and words:
            words.append(text.removeprefix("#").strip())
        elif (found := _LINE.match(line)) is not None:
            path = [(depth, key) for depth, key in path if depth < len(found["indent"])]
            path.append((len(found["indent"]), found["key"]))
            if words:
                yield ".".join(key for _, key in path), " ".join(words)
            words = []


def table() -> str:
    """The table, in Markdown."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    rows = [f"| `{name}` | `{json.dumps(_at(values, name))}` | {words} |" for name, words in described()]
    return "\n".join(["| value | default | what it is |", "| --- | --- | --- |", *rows, ""])


def _at(values: Any, name: str) -> Any:
    for key in name.split("."):
        values = values[key]
    return values


if __name__ == "__main__":
    README.write_text(README.read_text().partition(BEGIN)[0] + BEGIN + table())
