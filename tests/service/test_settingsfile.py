"""Settings from files, below the environment, and refused by the names of both."""

from pathlib import Path

import pytest

from mcpfleet.errors import SettingsError
from mcpfleet_service.settings import Settings


def read(path: Path, text: str, **environ: str) -> Settings:
    """The settings of a file with this text, and of these variables."""
    path.write_text(text)
    return Settings.from_environment({"MCPFLEET_SETTINGS_FILE": str(path), **environ})


def test_a_file_gives_values_of_every_kind_and_variables_go_before_it(tmp_path: Path) -> None:
    text = """
    app = "examples.weather:server"
    port = 9000
    sse = true
    session_idle_seconds = 600.5
    sse_after_ms = 100
    allowed_hosts = ["a.example", "b.example"]
    max_sessions = "none"
    """
    found = read(tmp_path / "settings.toml", text, MCPFLEET_PORT="9001", MCPFLEET_APP="")
    assert found == Settings(
        app="examples.weather:server",
        port=9001,
        sse=True,
        session_idle=600.5,
        sse_after=0.1,
        allowed_hosts=("a.example", "b.example"),
        max_sessions=None,
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = 70000", "MCPFLEET_PORT must be"),
        ("prot = 1", "MCPFLEET_PROT is not a setting; did you mean MCPFLEET_PORT"),
        ("PORT = 1", "names 'PORT'"),
        ("port = {a = 1}", "port is neither"),
        ("allowed_hosts = [1]", "allowed_hosts is neither"),
        ("port = 2026-01-01", "port is neither"),
        ("port = ", "is no TOML"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_by_its_name(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        read(tmp_path / "settings.toml", text)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"MCPFLEET_SETTINGS_FILE: .* cannot be read"):
        Settings.from_environment({"MCPFLEET_SETTINGS_FILE": str(tmp_path / "none.toml")})
    (tmp_path / "latin").write_bytes(b"app = '\xe9'")
    with pytest.raises(SettingsError, match="is not UTF-8"):
        Settings.from_environment({"MCPFLEET_SETTINGS_FILE": str(tmp_path / "latin")})


def test_a_secret_may_be_in_a_file_of_its_own_and_is_never_repeated(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("redis://:hunter2@redis:6379/0\n")
    given = {"MCPFLEET_REDIS_URL_FILE": str(tmp_path / "url")}
    assert Settings.from_environment(given).redis_url == "redis://:hunter2@redis:6379/0"
    with pytest.raises(SettingsError, match="both set") as both:
        Settings.from_environment({**given, "MCPFLEET_REDIS_URL": "redis://r/0"})
    (tmp_path / "url").write_text("hunter2")
    with pytest.raises(SettingsError, match="MCPFLEET_REDIS_URL must be") as wrong:
        Settings.from_environment(given)
    assert "hunter2" not in f"{both.value}{wrong.value}"
    with pytest.raises(SettingsError, match="MCPFLEET_PORT_FILE is not a setting"):
        Settings.from_environment({"MCPFLEET_PORT_FILE": str(tmp_path / "url")})
