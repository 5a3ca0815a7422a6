"""Which log messages a client gets: those at least as severe as it asked for, and none before it asked (Logging)."""

from typing import Any

from mcpfleet.protocol.messages.notifications import LOG_LEVELS, LogLevel


def wants(asked: str | None, level: str) -> bool:
    """Whether a client that asked for this level, or for none, gets a message of that one."""
    return asked is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(asked)


def message(level: LogLevel, data: Any, logger: str | None) -> dict[str, Any]:
    """The parameters of one message; `ValueError` for an unknown level."""
    if level not in LOG_LEVELS:
        raise ValueError(f"unknown log level {level!r}: one of {', '.join(LOG_LEVELS)}")
    return {"level": level, "data": data} if logger is None else {"level": level, "data": data, "logger": logger}
