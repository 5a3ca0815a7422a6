from pathlib import Path
from typing import Any

import pytest

from mcpfleet import Server
from mcpfleet.errors import RegistrationError
from mcpfleet.server.registry import Registry
from mcpfleet.server.tool import Tool, compile_tool
from tests.server import fresh
from tests.server.skills import manifest, written


class Context:
    pass


def tool(name: str, **options: Any) -> Tool:
    def function(a: int = 1) -> None: ...

    return compile_tool(function, context_type=Context, name=name, **options)


def registry(*names: str) -> Registry:
    made = Registry()
    for name in names:
        made.tools.add(tool(name))
    return made


def names(of: Registry) -> list[str]:
    return [one.name for one in of.tools]


def test_tools_are_found_by_name_and_listed_in_order() -> None:
    made = registry("b", "a", "c")
    assert names(made) == ["b", "a", "c"]
    assert made.tools.get("a") is made.tools.listed[1]
    assert made.tools.get("A") is None
    assert names(Registry()) == []


def test_a_name_that_is_taken_is_refused_and_changes_nothing() -> None:
    made = registry("a")
    before = (made.digest, made.tools.get("a"))
    with pytest.raises(RegistrationError, match="'a' is registered already"):
        made.tools.add(tool("a", title="another"))
    assert (made.digest, made.tools.get("a")) == before
    assert len(made.tools) == 1


def test_a_list_taken_earlier_does_not_change() -> None:
    made = registry("a")
    taken = made.tools.listed
    made.tools.add(tool("b"))
    assert [one.name for one in taken] == ["a"]


def test_another_registry_is_included_under_a_prefix() -> None:
    made, other = registry("a"), registry("a", "b")
    made.include(other, "crm_")
    assert names(made) == ["a", "crm_a", "crm_b"]
    assert names(other) == ["a", "b"]
    made.include(registry("c"))
    assert names(made) == ["a", "crm_a", "crm_b", "c"]


@pytest.mark.parametrize(
    ("names_", "prefix", "words"),
    [
        (("b", "a"), "", "registered already: a"),
        (("b", "c"), "no good ", "is no tool name"),
        (("b", "x" * 128), "p", "is no tool name"),
    ],
)
def test_an_inclusion_that_fails_adds_nothing(names_: tuple[str, ...], prefix: str, words: str) -> None:
    made = registry("a")
    with pytest.raises(RegistrationError, match=words):
        made.include(registry(*names_), prefix)
    assert names(made) == ["a"]


def test_a_registry_does_not_include_itself_twice() -> None:
    made = registry("a")
    with pytest.raises(RegistrationError, match="registered already: a"):
        made.include(made)
    made.include(made, "again.")
    assert names(made) == ["a", "again.a"]


def test_the_digest_tells_every_list_from_every_other() -> None:
    made = [
        Registry(),
        registry("a"),
        registry("b"),
        registry("a", "b"),
        registry("b", "a"),
    ]
    for options in ({"title": "A"}, {"description": "A"}, {"meta": {"a": 1}}, {"output_schema": {"type": "null"}}):
        one = Registry()
        one.tools.add(tool("a", **options))
        made.append(one)
    digests = [one.digest for one in made]
    assert len(set(digests)) == len(digests)
    assert all(len(digest) == 32 and set(digest) <= set("0123456789abcdef") for digest in digests)


def test_the_digest_follows_a_change_and_ignores_what_clients_do_not_see() -> None:
    made = registry("a")
    first = made.digest
    made.tools.add(tool("b"))
    assert made.digest == registry("a", "b").digest != first
    slow = Registry()
    slow.tools.add(tool("a", timeout=5))
    assert slow.digest == first


def nothing() -> list[Any]:
    return []


def full() -> Server:
    server = Server("s")
    server.tool(name="a")(lambda: None)
    server.prompt(name="a")(lambda language: language)
    server.resource("x://a", name="a")(lambda: "")
    server.resource("x://{b}", name="b")(lambda b: b)
    server.completion("prompt", "a", argument="language")(lambda value: [value])
    server.completion("resource", "x://{b}")(lambda value: [value])
    server.list_resources(nothing)
    server.read_resource(lambda uri: uri)
    return server


def test_an_inclusion_brings_everything_and_leaves_uris_alone() -> None:
    server = Server("outer")
    server.include(full(), prefix="crm_")
    made = server.registry
    assert [one.name for one in made.tools] == [one.name for one in made.prompts] == ["crm_a"]
    assert [(one.definition.name, one.definition.uri) for one in made.resources] == [("crm_a", "x://a")]
    assert [(one.definition.name, one.template.text) for one in made.templates] == [("crm_b", "x://{b}")]
    assert [one.key for one in made.completers] == [("prompt", "crm_a", "language"), ("resource", "x://{b}", None)]
    assert (len(made.listers), len(made.readers)) == (1, 1)


@pytest.mark.parametrize("kind", ["prompt", "resource", "template"])
def test_an_inclusion_that_fails_in_one_kind_adds_nothing_of_any(kind: str) -> None:
    server = Server("outer")
    if kind == "prompt":
        server.prompt(name="a")(lambda: "")
    else:
        server.resource("x://a" if kind == "resource" else "x://{b}", name="taken")(lambda b="": "")
    before = server.registry.digest
    with pytest.raises(RegistrationError, match="registered already: "):
        server.include(full(), prefix="" if kind == "prompt" else "crm_")
    assert server.registry.digest == before


def skilled(folder: Path, prefix: str = "") -> Server:
    server = Server("skilled")
    server.add_skills(written(folder, {"pdf/SKILL.md": manifest("pdf")}), prefix=prefix)
    return server


def test_an_included_skill_keeps_its_name_and_its_uri(tmp_path: Path) -> None:
    """Its name is in its file, and the last word before it in its URI."""
    server = Server("outer")
    server.include(skilled(tmp_path), prefix="crm_")
    [skill] = server.registry.skills
    assert (skill.definition.uri, skill.manifest.definition.name) == ("skill://pdf/SKILL.md", "pdf")
    server.include(skilled(tmp_path, "acme"))
    assert len(server.registry.skills) == 2


def test_an_inclusion_that_fails_for_a_skill_adds_nothing(tmp_path: Path) -> None:
    server, other = skilled(tmp_path), skilled(tmp_path, "pdf")
    other.tool(name="a")(lambda: None)
    before = server.registry.digest
    with pytest.raises(RegistrationError, match="are one skill, or one lies in the other"):
        server.include(other)
    assert server.registry.digest == before


def test_each_kind_has_names_of_its_own_and_each_name_is_taken_once() -> None:
    server = full()
    for again in (
        lambda: server.prompt(name="a")(lambda: ""),
        lambda: server.resource("x://a", name="other")(lambda: ""),
        lambda: server.resource("x://{b}", name="other")(lambda b: b),
        lambda: server.completion("prompt", "a", argument="language")(nothing),
    ):
        with pytest.raises(RegistrationError, match="is registered already"):
            again()


def test_a_function_lists_or_reads_once() -> None:
    server = Server("s")

    def lists() -> list[Any]:
        return []

    def reads(uri: str) -> None: ...

    server.list_resources(lists)
    server.read_resource(reads)
    with pytest.raises(RegistrationError, match="is registered already"):
        server.list_resources(lists)
    with pytest.raises(RegistrationError, match="is registered already"):
        server.read_resource(reads)


def test_the_digest_tells_of_every_kind(tmp_path: Path) -> None:
    servers = [Server("s") for _ in range(6)]
    servers += [skilled(tmp_path), skilled(tmp_path, "acme")]
    written(tmp_path, {"pdf/more": ""})
    servers += [skilled(tmp_path)]
    servers[1].tool(name="a")(lambda: None)
    servers[2].prompt(name="a")(lambda language: language)
    servers[3].prompt(name="a")(lambda language: language)
    servers[3].completion("prompt", "a")(lambda value: [value])
    servers[4].resource("x://a", name="a")(lambda: "")
    servers[5].resource("x://{b}", name="a")(lambda b: b)
    assert len({server.registry.digest for server in servers}) == len(servers)


def test_an_empty_registry_is_false_and_any_other_true(tmp_path: Path) -> None:
    assert not Registry()
    assert registry("a")
    server = Server("s")
    server.read_resource(lambda uri: uri)
    assert server.registry
    assert skilled(tmp_path).registry


SCRIPT = """
from tests.server.test_derived import many
from tests.server.test_registry import Context, Registry, compile_tool
registry = Registry()
registry.tools.add(compile_tool(many, context_type=Context))
print(registry.digest)
"""


def test_every_process_has_the_same_digest() -> None:
    assert len({fresh.run(SCRIPT, PYTHONHASHSEED=str(seed)) for seed in range(4)}) == 1
