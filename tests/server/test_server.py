"""What tool authors write to, and what clients are told of it."""

from pathlib import Path
from typing import Any, Literal

import pytest

from mcpfleet import Context, Icon, RegistrationError, Server, ToolAnnotations, apps
from mcpfleet.protocol.jsontext import plain
from mcpfleet.protocol.revisions import ALL_DATES, LATEST_LEGACY, REVISIONS, Era
from mcpfleet.server.tool import Tool, compile_tool
from tests.server.skills import manifest, written
from tests.server.wire import MODERN
from tests.server.world import World

ICON = Icon(src="https://example.org/icon.png")


def full() -> Server:
    return Server(
        "weather",
        version="1.2.3",
        title="Weather",
        description="Forecasts.",
        instructions="Ask for a city.",
        website_url="https://example.org",
        icons=[ICON],
    )


def test_a_function_is_registered_bare_and_returned_unchanged() -> None:
    server = Server("s")

    @server.tool
    def echo(x: str) -> str:
        """Return the argument."""
        return x

    assert echo("direct") == "direct"
    (tool,) = server.registry.tools
    assert (tool.name, tool.definition.description) == ("echo", "Return the argument.")


def test_a_function_is_registered_with_options_and_returned_unchanged() -> None:
    server = Server("s")

    @server.tool(name="other", title="T", description="D", annotations=ToolAnnotations(read_only_hint=True), timeout=2)
    def echo(x: str) -> str:
        return x

    assert echo("direct") == "direct"
    (tool,) = server.registry.tools
    assert (tool.name, tool.definition.title, tool.definition.description, tool.timeout) == ("other", "T", "D", 2)
    assert tool.definition.annotations == ToolAnnotations(read_only_hint=True)


class Clock:
    """Tell the time."""

    title = "Clock"

    def __init__(self, time: str = "noon") -> None:
        self.time = time

    def __call__(self) -> str:
        return self.time


class Dial(Clock):
    """The page of a clock."""

    uri = "ui://clock"


class Hand(Clock):
    """One of its hands."""

    uri = "clock://{hand}"

    def __call__(self, hand: str = "") -> str:
        return f"{hand} at {self.time}"


def test_functions_classes_and_instances_may_be_given_at_once() -> None:
    def echo(x: str) -> str:
        return x

    compiled = compile_tool(echo, context_type=Context, name="compiled")
    server = Server("s", tools=[echo, Clock, compiled], prompts=[echo, Clock("midnight")], resources=[Dial, Hand()])
    assert [tool.name for tool in server.registry.tools] == ["echo", "clock", "compiled"]
    assert [prompt.name for prompt in server.registry.prompts] == ["echo", "clock"]
    assert [each.definition.uri for each in server.registry.resources] == ["ui://clock"]
    assert [each.template.text for each in server.registry.templates] == ["clock://{hand}"]
    again = Server(
        "again", tools=server.registry.tools, prompts=server.registry.prompts, resources=server.registry.resources
    )
    assert [tool.definition.title for tool in again.registry.tools] == [None, "Clock", None]
    assert again.registry.digest != server.registry.digest, "the template is missing"


def test_what_cannot_be_served_is_refused_at_once() -> None:
    with pytest.raises(RegistrationError, match="a tool called 'clock' is registered already"):
        Server("s", tools=[Clock, Clock])
    with pytest.raises(RegistrationError, match="needs a URI"):
        Server("s", resources=[Clock])


def test_a_context_is_no_argument() -> None:
    server = Server("s")

    @server.tool
    def one(ctx: Context, x: int) -> int:
        return x

    (tool,) = server.registry.tools
    assert list(tool.definition.input_schema["properties"]) == ["x"]


def test_a_name_is_registered_once() -> None:
    server = Server("s")
    server.tool(name="taken")(lambda: None)
    with pytest.raises(RegistrationError, match="taken"):
        server.tool(name="taken")(lambda: None)
    assert len(server.registry.tools) == 1


def test_a_compiled_tool_is_registered_as_it_is() -> None:
    server = Server("s")
    tool: Tool = compile_tool(lambda: None, context_type=Context, name="made")
    server.add_tool(tool)
    assert server.registry.tools.get("made") is tool


def test_a_server_includes_another_under_a_prefix_or_not_at_all() -> None:
    inner, outer = Server("inner"), Server("outer")
    for name in ("a", "b"):
        inner.tool(name=name)(lambda: None)
    outer.tool(name="crm_b")(lambda: None)
    with pytest.raises(RegistrationError, match="crm_b"):
        outer.include(inner, prefix="crm_")
    assert [tool.name for tool in outer.registry.tools] == ["crm_b"]
    outer.include(inner, prefix="x_")
    assert [tool.name for tool in outer.registry.tools] == ["crm_b", "x_a", "x_b"]


def test_discovery_lists_every_version_newest_first() -> None:
    told = plain(full().discovery())
    assert told == {
        "supportedVersions": ALL_DATES,
        "capabilities": {"tools": {"listChanged": True}, "logging": {}},
        "instructions": "Ask for a city.",
    }


@pytest.mark.parametrize("revision", [r for r in REVISIONS if r.era is Era.LEGACY], ids=lambda revision: revision.date)
def test_initialization_names_the_agreed_revision(revision: Any) -> None:
    told = plain(full().initialization(revision))
    assert told["protocolVersion"] == revision.date
    assert told["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
    assert told["instructions"] == "Ask for a city."
    assert told["serverInfo"]["name"] == "weather"


@pytest.mark.parametrize("date", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_a_legacy_client_is_told_of_the_server_what_its_revision_knows(memory: World, date: str) -> None:
    node = await memory.node(server=full())
    params = {"protocolVersion": date, "capabilities": {}, "clientInfo": {}}
    got = await node.send("POST", {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).got()
    expected: dict[str, Any] = {"name": "weather", "version": "1.2.3"}
    if date >= "2025-06-18":
        expected["title"] = "Weather"
    if date == LATEST_LEGACY.date:
        icons = [{"src": "https://example.org/icon.png"}]
        expected |= {"description": "Forecasts.", "websiteUrl": "https://example.org", "icons": icons}
    assert got.result["serverInfo"] == expected


async def test_a_modern_client_is_told_of_the_server_with_every_result(memory: World) -> None:
    node = await memory.node(server=full())
    for method in ("server/discover", "tools/list"):
        got = await node.modern(method).got()
        assert got.result["_meta"]["io.modelcontextprotocol/serverInfo"]["title"] == "Weather"
        assert (got.result["ttlMs"], got.result["cacheScope"]) == (0, "private")
    assert MODERN in (await node.modern("server/discover").got()).result["supportedVersions"]


def test_a_prompt_and_a_resource_are_registered_and_returned_unchanged() -> None:
    server = Server("s")

    @server.prompt
    def review(code: str) -> str:
        return code

    @server.prompt(title="T", timeout=2)
    def other(code: str) -> str:
        return code

    @server.resource("config://app", title="T")
    def config() -> str:
        return "{}"

    @server.resource
    class Profile:
        uri = "users://{user_id}"

        def __call__(self, user_id: str) -> str:
            return user_id

    assert (review("x"), other("x"), config(), Profile()("x")) == ("x", "x", "{}", "x")
    assert [(one.name, one.definition.title, one.timeout) for one in server.registry.prompts] == [
        ("review", None, None),
        ("other", "T", 2),
    ]
    assert [(one.definition.name, one.definition.title) for one in server.registry.resources] == [("config", "T")]
    assert [one.definition.name for one in server.registry.templates] == ["profile"]


def test_only_what_is_there_is_completed() -> None:
    server = Server("s")
    server.prompt(name="review")(lambda language: language)
    server.resource("x://{a}", name="x")(lambda a: a)
    for of, name, argument, words in (
        ("prompt", "absent", None, "register the prompt first"),
        ("resource", "x://{b}", None, "register the resource first"),
        ("prompt", "review", "absent", "it has no argument 'absent'"),
        ("resource", "x://{a}", "absent", "it has no argument 'absent'"),
    ):
        with pytest.raises(RegistrationError, match=words):
            server.completion(of, name, argument=argument)  # type: ignore[arg-type]  # the two kinds, as strings


def completed(server: Server) -> None:
    server.prompt(name="a")(lambda language: language)
    server.completion("prompt", "a")(lambda value: [value])


def chosen(mood: Literal["warm", "cool"]) -> str:
    return mood


def nothing() -> list[Any]:
    return []


HEARD = {"listChanged": True}
WATCHED = {"listChanged": True, "subscribe": True}


@pytest.mark.parametrize(
    ("offer", "declared"),
    [
        (lambda server: server.prompt(name="a")(lambda: ""), {"prompts": HEARD}),
        (lambda server: server.resource("x:a", name="a")(lambda: ""), {"resources": WATCHED}),
        (lambda server: server.resource("x:{a}", name="a")(lambda a: a), {"resources": WATCHED}),
        (lambda server: server.list_resources(nothing), {"resources": WATCHED}),
        (lambda server: server.read_resource(lambda uri: uri), {"resources": WATCHED}),
        (completed, {"prompts": HEARD, "completions": {}}),
        (lambda server: server.prompt(chosen), {"prompts": HEARD, "completions": {}}),
    ],
)
def test_what_is_registered_is_declared(offer: Any, declared: dict[str, Any]) -> None:
    server = Server("s")
    offer(server)
    told = plain(server.discovery())["capabilities"]
    assert told == {"tools": told["tools"], "logging": {}, **declared}
    told = plain(server.initialization(LATEST_LEGACY))["capabilities"]
    assert told == {"tools": told["tools"], "logging": {}, **declared}


def test_extensions_are_declared_as_they_were_given() -> None:
    settings: dict[str, Any] = {"enabled": True}
    server = Server("s", extensions={"com.example/feature": settings, **apps.EXTENSION})
    settings["enabled"] = False
    told = plain(server.discovery())["capabilities"]["extensions"]
    assert told == {
        "com.example/feature": {"enabled": True},
        "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
    }
    assert "extensions" not in plain(Server("s").discovery())["capabilities"]


def test_skills_are_declared_among_the_extensions_and_as_resources(tmp_path: Path) -> None:
    """The extension `io.modelcontextprotocol/skills`, "Capability Negotiation"."""
    server = Server("s", extensions=apps.EXTENSION)
    server.add_skills(written(tmp_path, {"pdf/SKILL.md": manifest("pdf")}))
    for told in (server.discovery(), server.initialization(LATEST_LEGACY)):
        declared = plain(told)["capabilities"]
        assert declared["extensions"] == {**apps.EXTENSION, "io.modelcontextprotocol/skills": {"directoryRead": True}}
        assert declared["resources"] == {"listChanged": True, "subscribe": True}


def test_skills_of_several_folders_are_listed_in_the_order_of_the_folders(tmp_path: Path) -> None:
    written(tmp_path, {"x/b/SKILL.md": manifest("b"), "x/c/SKILL.md": manifest("c"), "y/a/SKILL.md": manifest("a")})
    server = Server("s")
    server.add_skills(str(tmp_path / "x"), prefix="acme")
    server.add_skills(tmp_path / "y")
    uris = ["skill://acme/b/SKILL.md", "skill://acme/c/SKILL.md", "skill://a/SKILL.md"]
    assert [skill.definition.uri for skill in server.registry.skills] == uris


@pytest.mark.parametrize(
    ("folder", "prefix"), [("x/outer", ""), ("y", "outer"), ("y", "outer/deep"), ("x", ""), ("x/outer/inner", "outer")]
)
def test_a_skill_that_is_or_touches_a_served_one_is_refused_with_all_of_its_folder(
    tmp_path: Path, folder: str, prefix: str
) -> None:
    """Whatever is in a skill's directory is listed with the skill, so nothing may come into it later."""
    written(tmp_path, {"x/outer/SKILL.md": manifest("outer"), "x/outer/inner/SKILL.md": manifest("inner")})
    written(tmp_path, {"x/another/SKILL.md": manifest("another"), "y/late/SKILL.md": manifest("late")})
    server = Server("s")
    server.add_skills(tmp_path / "x/outer")
    before = server.registry.digest
    with pytest.raises(RegistrationError, match="are one skill, or one lies in the other"):
        server.add_skills(tmp_path / folder, prefix=prefix)
    assert server.registry.digest == before


@pytest.mark.parametrize("identifier", ["feature", "/feature", "com.example/", "1com/x", "com..x/y", "com.example/a b"])
def test_an_extension_has_an_identifier_with_a_prefix(identifier: str) -> None:
    """Versioning, "Extension Negotiation"."""
    with pytest.raises(RegistrationError, match="identifies no extension"):
        Server("s", extensions={identifier: {}})


@pytest.mark.parametrize("settings", [None, [], True, {"a": object()}, {"a": float("nan")}])
def test_the_settings_of_an_extension_are_a_json_object(settings: Any) -> None:
    with pytest.raises(RegistrationError, match="settings of the extension"):
        Server("s", extensions={"com.example/feature": settings})


def test_a_page_has_the_type_of_pages_unless_another_is_given() -> None:
    server = Server("s")
    server.resource("ui://s/page", name="page")(lambda: "<html></html>")
    server.resource("ui://s/{name}", name="pages")(lambda name: name)
    server.resource("ui://s/other", name="other", mime_type="text/html")(lambda: "")
    assert [one.definition.mime_type for one in server.registry.resources] == [apps.MIME_TYPE, "text/html"]
    assert [one.definition.mime_type for one in server.registry.templates] == [apps.MIME_TYPE]
