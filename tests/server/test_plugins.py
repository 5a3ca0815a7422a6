import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcpfleet.errors import RegistrationError
from mcpfleet.server.plugins import load
from mcpfleet.server.prompt import Prompt, compile_prompt
from mcpfleet.server.registry import Registry
from mcpfleet.server.resource import ServedResource, ServedTemplate, compile_resource
from mcpfleet.server.tool import Tool, compile_tool
from tests.server import fresh


class Context:
    pass


class Registrar:
    """As much of a server as plugins need; plugins may annotate it by this class."""

    def __init__(self) -> None:
        self.registry = Registry()

    def tool(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        self.add_tool(compile_tool(function, context_type=Context))
        return function

    def add_tool(self, tool: Tool, /) -> None:
        self.registry.tools.add(tool)

    def prompt(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        self.add_prompt(compile_prompt(function, context_type=Context))
        return function

    def add_prompt(self, prompt: Prompt, /) -> None:
        self.registry.prompts.add(prompt)

    def resource(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        self.add_resource(compile_resource(function, context_type=Context))
        return function

    def add_resource(self, resource: ServedResource | ServedTemplate, /) -> None:
        if isinstance(resource, ServedResource):
            self.registry.resources.add(resource)
        else:
            self.registry.templates.add(resource)


MODULE = """
from mcpfleet.server.prompt import compile_prompt
from mcpfleet.server.resource import compile_resource
from mcpfleet.server.tool import compile_tool
from tests.server.test_plugins import Context, Registrar

def add(a: int, b: int) -> int:
    return a + b

def compiled_one() -> None: ...
def compiled_two() -> None: ...

ready = compile_tool(compiled_one, context_type=Context, name="ready")
several = [add, compile_tool(compiled_two, context_type=Context, name="two")]
nested = ([add], (ready,))

class Profile:
    uri = "users://{user_id}"
    def __call__(self, user_id: str) -> str:
        return user_id

class Config:
    uri = "config://app"
    def __call__(self) -> str:
        return "{}"

filled = compile_prompt(add, context_type=Context, name="filled")
config = compile_resource(Config, context_type=Context)
several_prompts = [add, filled]
several_resources = (Profile(), config)

def register(server: Registrar) -> None:
    server.tool(add)
    server.add_tool(ready)

def registers_by_string(server: "Registrar") -> None:
    server.add_tool(ready)

def about_servers(server: str) -> str:
    return server

def about_anything(server) -> str:
    return server

def about_objects(server: object) -> str:
    return str(server)

class Export:
    async def __call__(self, rows: int) -> str:
        return str(rows)

number = 7
text = "add"
wrong_inside = [add, 7]
nothing_inside = []
mapping = {"add": add}

def ends(server: Registrar) -> None:
    raise SystemExit(3)

def fails(server: Registrar) -> None:
    raise LookupError("no database")

def unresolved(server: "Nowhere") -> None: ...
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a distribution with these entry points on the path, as an installer would leave it."""

    def put(entries: dict[str, str], name: str = "acme-tools", group: str = "mcpfleet.tools") -> None:
        site = tmp_path / name
        info = site / f"{name.replace('-', '_')}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        lines = [f"{entry} = {value}" for entry, value in entries.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines, ""]))
        module = "module_" + name.replace("-", "_")
        (site / f"{module}.py").write_text(MODULE)
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, module, raising=False)

    return put


def loaded(*groups: str) -> list[str]:
    server = Registrar()
    load(server, groups) if groups else load(server)
    return [tool.name for tool in server.registry.tools]


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("add", ["add"]),
        ("ready", ["ready"]),
        ("several", ["add", "two"]),
        ("register", ["add", "ready"]),
        ("registers_by_string", ["ready"]),
        ("about_servers", ["about_servers"]),
        ("about_anything", ["about_anything"]),
        ("about_objects", ["about_objects"]),
        ("Export", ["export"]),
        ("nothing_inside", []),
    ],
)
def test_an_entry_point_offers_tools_in_any_of_its_forms(
    install: Callable[..., None], value: str, names: list[str]
) -> None:
    install({"one": f"module_acme_tools:{value}"})
    assert loaded() == names


@pytest.mark.parametrize(
    ("value", "names"),
    [("add", ["add"]), ("filled", ["filled"]), ("several_prompts", ["add", "filled"]), ("Export", ["export"])],
)
def test_an_entry_point_offers_prompts(install: Callable[..., None], value: str, names: list[str]) -> None:
    install({"one": f"module_acme_tools:{value}"}, group="mcpfleet.prompts")
    server = Registrar()
    load(server)
    assert [prompt.name for prompt in server.registry.prompts] == names
    assert not server.registry.tools


@pytest.mark.parametrize("value", ["Config", "config", "several_resources"])
def test_an_entry_point_offers_resources_that_tell_their_uri(install: Callable[..., None], value: str) -> None:
    install({"one": f"module_acme_tools:{value}"}, group="mcpfleet.resources")
    server = Registrar()
    load(server)
    assert [one.definition.uri for one in server.registry.resources] == ["config://app"]
    templates = [one.definition.uri_template for one in server.registry.templates]
    assert templates == (["users://{user_id}"] if value == "several_resources" else [])


def test_a_function_without_a_uri_is_no_resource(install: Callable[..., None]) -> None:
    install({"one": "module_acme_tools:add"}, group="mcpfleet.resources")
    with pytest.raises(RegistrationError, match=r"in mcpfleet\.resources, .*: add: a resource needs a URI"):
        load(Registrar())


def test_nothing_installed_registers_nothing() -> None:
    assert loaded() == []


def test_other_groups_are_left_alone(install: Callable[..., None]) -> None:
    install({"one": "module_acme_tools:add"}, group="acme.tools")
    assert loaded() == []
    assert loaded("acme.tools") == ["add"]


def test_the_order_is_that_of_distributions_and_names(install: Callable[..., None]) -> None:
    install({"z": "module_b_tools:ready", "a": "module_b_tools:about_servers"}, name="b-tools")
    install({"m": "module_a_tools:Export", "c": "module_a_tools:add"}, name="a-tools")
    assert loaded() == ["add", "export", "about_servers", "ready"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("module_acme_tools:absent", "AttributeError"),
        ("no_such_module:add", "ModuleNotFoundError"),
        ("module_acme_tools:number", "int is neither a function, a Tool nor an iterable of them"),
        ("module_acme_tools:text", "str is neither"),
        ("module_acme_tools:wrong_inside", "int is neither"),
        ("module_acme_tools:nested", "list is neither"),
        ("module_acme_tools:mapping", "dict is neither"),
        ("module_acme_tools:ends", "SystemExit: 3"),
        ("module_acme_tools:fails", "LookupError: no database"),
        ("module_acme_tools:unresolved", "Nowhere"),
    ],
)
def test_a_broken_entry_point_stops_the_start_with_its_name(
    install: Callable[..., None], value: str, words: str
) -> None:
    install({"broken": value})
    with pytest.raises(RegistrationError) as refused:
        loaded()
    message = str(refused.value)
    assert message.startswith(f"entry point 'broken' ({value}) in mcpfleet.tools, of acme-tools 1.2: ")
    assert words in message
    assert refused.value.__cause__ is not None


def test_a_name_offered_twice_stops_the_start_with_the_second_offer(install: Callable[..., None]) -> None:
    install({"first": "module_a_tools:add"}, name="a-tools")
    install({"second": "module_b_tools:add"}, name="b-tools")
    with pytest.raises(RegistrationError, match=r"'second' .* of b-tools 1\.2: .*'add' is registered already"):
        loaded()


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "acme-weather"
version = "3.1"
[project.entry-points."mcpfleet.tools"]
weather = "acme_weather:register"
[tool.hatch.build.targets.wheel]
packages = ["acme_weather"]
"""

PACKAGE = '''
from mcpfleet.server.server import Server

def forecast(city: str, days: int = 3) -> str:
    """Forecast the weather of a city."""
    return city

def register(server: Server) -> None:
    server.tool(forecast)
'''

USER = """
import json
from mcpfleet.server.plugins import load
from mcpfleet.server.server import Server
server = Server("plugged")
load(server)
print(json.dumps([tool.definition.description for tool in server.registry.tools]))
"""


def test_a_real_distribution_is_built_installed_and_loaded(tmp_path: Path) -> None:
    project, target = tmp_path / "project", tmp_path / "target"
    (project / "acme_weather").mkdir(parents=True)
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "acme_weather" / "__init__.py").write_text(PACKAGE)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target), str(project)]
    subprocess.run([*pip, *options], check=True, timeout=100, cwd=tmp_path)
    assert json.loads(fresh.run(USER, str(target))) == ["Forecast the weather of a city."]
