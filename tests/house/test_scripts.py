"""The Lua scripts: each says what it takes, takes that, and is refused by whoever may not decide."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from mcpfleet.backplane.scripts import WHEN_FULL, Scripts
from tests.house.source import Source, files, planted

SCRIPTS = [source for source in files() if source.path.suffix == ".lua"]


def faults(source: Source) -> Iterator[str]:
    """What is wrong with a script, in words."""
    shebang, *rest = source.text.splitlines()
    header = "\n".join(_header(rest))
    if not re.fullmatch(r"#!lua( flags=[a-z,-]+)?", shebang):
        yield "it does not begin with #!lua, so Redis would take it for one without flags"
    if "no-writes" in shebang:
        yield "no-writes would let a replica, and a master that is cut off, answer it"
    if not re.search(r"^-- -> +\S", header, re.MULTILINE):
        yield "its header does not say what it returns"
    for kind in ("KEYS", "ARGV"):
        named, used = _named(header, kind), _used("\n".join(rest), kind)
        if named is not None and named != used:
            yield f"its header names {named} {kind} and it uses {used}"


def _header(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("--"):
            return
        yield line


def _named(header: str, kind: str) -> int | None:
    """How many the header names, None for any number; parentheses explain and name nothing."""
    found = re.search(rf"^-- {kind}: (.+)$", header, re.MULTILINE)
    if found and found[1].endswith("..."):
        return None
    return len(re.sub(r"\(.*?\)", "", found[1]).split(",")) if found else 0


def _used(body: str, kind: str) -> int:
    """The highest index; the gaps below it count as used."""
    return max((int(index) for index in re.findall(rf"\b{kind}\[([0-9]+)\]", body)), default=0)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.path.name)
def test_a_script_says_what_it_takes_and_takes_that(script: Source) -> None:
    assert list(faults(script)) == []


def test_every_script_is_a_file_beside_its_loader_and_every_such_file_is_loaded() -> None:
    assert {script.path.parent for script in SCRIPTS} == {Path("shared/mcpfleet/backplane/lua")}
    loaded = {WHEN_FULL.get(each.name, each.name) for each in fields(Scripts)}
    assert sorted(script.path.stem for script in SCRIPTS) == sorted(loaded)


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "no shebang": ("-- KEYS: a\n-- ->    1\nreturn KEYS[1]", "begin with #!lua"),
        "no-writes": ("#!lua flags=no-writes\n-- KEYS: a\n-- ->    1\nreturn KEYS[1]", "no-writes"),
        "no header": ("#!lua\nreturn KEYS[1]", "does not say what it returns"),
        "a key too few": ("#!lua\n-- KEYS: a\n-- ->    1\nreturn KEYS[2]", "names 1 KEYS and it uses 2"),
        "an argument too many": ("#!lua\n-- KEYS: a\n-- ARGV: b, c\n-- ->    1\nreturn KEYS[1] .. ARGV[1]", "2 ARGV"),
    }.values(),
)
def test_a_faulty_script_is_found(text: str, words: str) -> None:
    assert words in "; ".join(faults(planted(text, "planted.lua")))
