"""A server that counts how often its tool has really run: each run leaves a line in a file."""

import os
from pathlib import Path
from typing import Final

from mcpfleet import Server

FILE: Final = "TALLY_FILE"
"""The variable that names the file."""

server = Server("tally")


@server.tool
def tally(what: str) -> str:
    """Note that this ran, and return it."""
    with Path(os.environ[FILE]).open("a") as lines:
        lines.write(f"{what}\n")
    return what
