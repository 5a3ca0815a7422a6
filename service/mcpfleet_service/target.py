"""Finding the server that a command names as `module:server`."""

from importlib import import_module

from mcpfleet import Server
from mcpfleet.errors import SettingsError


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
