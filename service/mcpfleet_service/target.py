"""Finding the server to serve: the one that a command names as `module:server`, or what packages register."""

import copy
from importlib import import_module

import msgspec

from mcpfleet import Server
from mcpfleet.errors import SettingsError
from mcpfleet.server import plugins
from mcpfleet_service.settings import Settings


def find_server(settings: Settings) -> Server:
    """The server that the settings name, else one of all that installed packages register; `SettingsError` if none."""
    if settings.app is not None:
        return load_server(settings.app)
    server = Server(settings.server_name or "mcpfleet")
    plugins.load(server)
    if not server.registry:
        groups = ", ".join(plugins.GROUPS)
        raise SettingsError(f"MCPFLEET_APP is not set, and no installed package registers anything in {groups}")
    return server


def named(server: Server, settings: Settings) -> Server:
    """The server under the name that the settings give it; the author's own object keeps its name."""
    if settings.server_name is None:
        return server
    renamed = copy.copy(server)
    renamed.info = msgspec.structs.replace(server.info, name=settings.server_name)
    return renamed


def load_server(target: str) -> Server:
    """Import the server that `module:attribute` names.

    Raises `SettingsError` if the module or one of its own imports is missing, or the attribute is, or is no server.
    What else the module raises passes through: it is a fault in the module.
    """
    module_name, _, attribute = target.partition(":")
    try:
        found = import_module(module_name)
    except ImportError as missing:
        raise SettingsError(f"MCPFLEET_APP={target}: {missing}") from missing
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError as missing:
            raise SettingsError(f"MCPFLEET_APP={target}: {missing}") from missing
    if not isinstance(found, Server):
        raise SettingsError(f"MCPFLEET_APP={target}: a {type(found).__name__}, not a mcpfleet.Server")
    return found
