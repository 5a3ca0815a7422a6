"""A setting is what the environment says, or the start fails and names the variable."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from mcpfleet.errors import SettingsError
from mcpfleet_service.settings import Settings
from mcpfleet_service.variables import reference, variables


def read(**variables: str) -> Settings:
    return Settings.from_environment({f"MCPFLEET_{name}": text for name, text in variables.items()})


def test_an_empty_environment_gives_the_defaults() -> None:
    assert Settings.from_environment({}) == Settings()


def test_other_programs_variables_are_not_read() -> None:
    assert Settings.from_environment({"PORT": "9", "XMCPFLEET_PORT": "9", "mcpfleet_port": "9"}) == Settings()


def test_the_defaults_are_values_that_the_variables_could_give() -> None:
    for name, hint, variable in variables(Settings):
        text = variable.show(getattr(Settings(), name))
        if text:
            assert variable.parse(text, hint) == getattr(Settings(), name)


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("APP", "examples.weather:server", "app", "examples.weather:server"),
        ("HOST", "0.0.0.0", "host", "0.0.0.0"),
        ("HOST", "::1", "host", "::1"),
        ("PORT", "0", "port", 0),
        ("PORT", "65535", "port", 65535),
        ("PORT", " 80 ", "port", 80),
        ("PATH", "/", "path", "/"),
        ("PATH", "/a/b-c", "path", "/a/b-c"),
        ("WORKERS", "4", "workers", 4),
        ("REDIS_URL", "redis://user:secret@host:6379/0", "redis_url", "redis://user:secret@host:6379/0"),
        ("REDIS_URL", "unix:///run/redis.sock", "redis_url", "unix:///run/redis.sock"),
        ("REDIS_URL", "rediss+cluster://a:1,b:2/0", "redis_url", "rediss+cluster://a:1,b:2/0"),
        ("REDIS_URL", "redis+sentinel://a,b:2/mymaster", "redis_url", "redis+sentinel://a,b:2/mymaster"),
        ("NAMESPACE", "team-a.prod_1", "namespace", "team-a.prod_1"),
        ("SERVER_NAME", "Wetter für alle", "server_name", "Wetter für alle"),
        ("ALLOWED_HOSTS", "a.example, b.example", "allowed_hosts", ("a.example", "b.example")),
        ("ALLOWED_HOSTS", "[2001:db8::1]", "allowed_hosts", ("[2001:db8::1]",)),
        ("ALLOWED_HOSTS", "a.example:8443,[::1]:1", "allowed_hosts", ("a.example:8443", "[::1]:1")),
        ("ALLOWED_HOSTS", "none", "allowed_hosts", None),
        ("ALLOWED_ORIGINS", "none", "allowed_origins", None),
        ("ALLOWED_ORIGINS", "https://a.example:8443", "allowed_origins", ("https://a.example:8443",)),
        ("SESSION_IDLE_SECONDS", "0.5", "session_idle", 0.5),
        ("SESSION_IDLE_SECONDS", "none", "session_idle", None),
        ("MAX_SESSIONS", "1", "max_sessions", 1),
        ("MAX_SESSIONS", "none", "max_sessions", None),
        ("MAX_BODY_BYTES", "none", "max_body", None),
        ("MAX_LINE_BYTES", "none", "max_line", None),
        ("JSON_RESPONSE", "true", "json_response", True),
        ("SSE", "true", "sse", True),
        ("STATELESS", "true", "stateless", True),
        ("STATELESS", "false", "stateless", False),
        ("HANDSHAKE_VERSION", "2025-03-26", "handshake", "2025-03-26"),
        ("KEEPALIVE_SECONDS", "none", "keepalive", None),
        ("LEASE_SECONDS", "1e1", "lease", 10.0),
        ("RETENTION_ENTRIES", "5", "retention_entries", 5),
        ("RETENTION_SECONDS", "5", "retention", 5.0),
        ("SSE_AFTER_MS", "0", "sse_after", 0.0),
        ("SSE_AFTER_MS", "1500", "sse_after", 1.5),
        ("HOLD_SECONDS", "0", "hold", 0.0),
        ("COMMAND_SECONDS", "2", "command", 2.0),
        ("DURABILITY", "none", "durability", None),
        ("DURABILITY", "fsync", "durability", "fsync"),
        ("DURABILITY", "replicas:2", "durability", "replicas:2"),
        ("DRAIN_DELAY", "0", "drain_delay", 0.0),
        ("DRAIN_SECONDS", "0", "drain", 0.0),
    ],
)
def test_a_variable_sets_its_field(variable: str, text: str, field: str, value: Any) -> None:
    settings = read(**{variable: text})
    assert getattr(settings, field) == value
    assert type(getattr(settings, field)) is type(value)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("APP", "examples.weather"),
        ("APP", "examples/weather.py:server"),
        ("HOST", "http://a.example"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "http"),
        ("PORT", "80.5"),
        ("PORT", "none"),
        ("PATH", "mcp"),
        ("PATH", "/mcp/"),
        ("PATH", "/mcp?x=1"),
        ("WORKERS", "0"),
        ("REDIS_URL", "localhost:6379"),
        ("REDIS_URL", "none"),
        ("REDIS_URL", "unix+cluster://a,b"),
        ("NAMESPACE", "{tag}"),
        ("NAMESPACE", "a" * 65),
        ("HOST", "[::1]"),
        ("ALLOWED_HOSTS", "https://a.example"),
        ("ALLOWED_HOSTS", "a.example:"),
        ("ALLOWED_HOSTS", "a.example:https"),
        ("ALLOWED_HOSTS", "a.example:4443333"),
        ("ALLOWED_HOSTS", "::1"),
        ("ALLOWED_HOSTS", "a.example,,b.example"),
        ("ALLOWED_ORIGINS", "a.example"),
        ("ALLOWED_ORIGINS", "https://a.example/"),
        ("SESSION_IDLE_SECONDS", "0"),
        ("SESSION_IDLE_SECONDS", "nan"),
        ("SESSION_IDLE_SECONDS", "inf"),
        ("SESSION_IDLE_SECONDS", "null"),
        ("SESSION_IDLE_SECONDS", "None"),
        ("SESSION_IDLE_SECONDS", "30m"),
        ("MAX_SESSIONS", "0"),
        ("MAX_SESSIONS", "1.5"),
        ("MAX_BODY_BYTES", "4MiB"),
        ("KEEPALIVE_SECONDS", "-1"),
        ("LEASE_SECONDS", "none"),
        ("RETENTION_ENTRIES", "0"),
        ("RETENTION_SECONDS", "1e9"),
        ("SSE_AFTER_MS", "-1"),
        ("HOLD_SECONDS", "nan"),
        ("COMMAND_SECONDS", "0"),
        ("DURABILITY", "replicas:0"),
        ("DURABILITY", "always"),
        ("JSON_RESPONSE", "perhaps"),
        ("STATELESS", "none"),
        ("HANDSHAKE_VERSION", "2026-07-28"),
        ("HANDSHAKE_VERSION", "2025-11-2"),
        ("HANDSHAKE_VERSION", "latest"),
        ("DRAIN_DELAY", "nan"),
        ("DRAIN_SECONDS", "1e400"),
    ],
)
def test_a_bad_value_is_refused_by_its_variables_name_with_what_is_allowed(variable: str, text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(**{variable: text})
    rule = next(each.rule for _, _, each in variables(Settings) if each.name == variable)
    assert str(refused.value).startswith(f"MCPFLEET_{variable} must be {rule}")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("handshake", "2026-07-28", "MCPFLEET_HANDSHAKE_VERSION must be one of .*, not '2026-07-28'"),
        ("handshake", "latest", "MCPFLEET_HANDSHAKE_VERSION"),
        ("port", -1, "MCPFLEET_PORT must be a port .*, not -1"),
        ("port", "80", "MCPFLEET_PORT"),
        ("path", "mcp", "MCPFLEET_PATH"),
        ("page_size", 0, "MCPFLEET_PAGE_SIZE"),
        ("lease", None, "MCPFLEET_LEASE_SECONDS"),
        ("session_idle", float("nan"), "MCPFLEET_SESSION_IDLE_SECONDS"),
        ("allowed_hosts", "localhost", "MCPFLEET_ALLOWED_HOSTS"),
        ("stateless", "no", "MCPFLEET_STATELESS"),
        ("key_encryption_key", "secret", "MCPFLEET_KEY_ENCRYPTION_KEY must be 32 bytes in base64[^,]*, such as [^,]*$"),
    ],
)
def test_a_bad_value_in_code_is_refused_like_that_of_its_variable(field: str, value: Any, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Settings(**{field: value})
    with pytest.raises(SettingsError, match=words):
        replace(Settings(), **{field: value})


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(SettingsError, match=r"MCPFLEET_PORT .*; MCPFLEET_WORKERS .*; MCPFLEET_COLOUR is not a setting"):
        read(PORT="x", WORKERS="x", COLOUR="red")


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        SettingsError, match=r"MCPFLEET_SESION_IDLE is not .*did you mean MCPFLEET_SESSION_IDLE_SECONDS"
    ):
        read(SESION_IDLE="60")


def test_an_empty_variable_counts_as_unset() -> None:
    assert read(PORT="", REDIS_URL=" ", ALLOWED_ORIGINS="") == Settings()


def test_the_addresses_that_kubernetes_gives_a_pod_are_not_settings() -> None:
    links = {
        "PORT": "tcp://10.0.0.1:80",
        "PORT_80_TCP": "tcp://10.0.0.1:80",
        "PORT_80_TCP_ADDR": "10.0.0.1",
        "PORT_80_TCP_PORT": "80",
        "PORT_80_TCP_PROTO": "tcp",
        "SERVICE_HOST": "10.0.0.1",
        "SERVICE_PORT": "80",
        "SERVICE_PORT_HTTP": "80",
        "REDIS_PORT": "tcp://10.0.0.2:6379",
        "REDIS_SERVICE_HOST": "10.0.0.2",
        "REDIS_PORT_6379_TCP_ADDR": "10.0.0.2",
    }
    assert read(**links) == Settings()


def test_the_password_of_redis_is_never_shown() -> None:
    assert "secret" not in repr(read(REDIS_URL="redis://:secret@host/0"))
    with pytest.raises(SettingsError) as refused:
        read(REDIS_URL="http://:secret@host/0")
    assert "secret" not in str(refused.value)


def test_settings_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().port = 1  # type: ignore[misc]  # the point of the test


def test_the_documentation_lists_every_setting_as_the_code_has_it() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert reference(Settings) in page.read_text()
