"""What `serve` prints once it really serves: its URL, and a request to try."""

import http.client
import json
import shlex
import threading
from contextlib import suppress
from typing import Final

import typer

from mcpfleet.protocol.revisions import LATEST

_AGAIN: Final = threading.Event()
"""Never set: waiting for it is the pause between two looks."""


def greet_when_ready(host: str, port: int, path: str, *, ready_at: int) -> None:
    """Print the URL and a `curl` line to standard output once `/readyz` answers 200 at `ready_at`; return at once."""
    threading.Thread(target=_greet, args=(host, port, path, ready_at), name="greeting", daemon=True).start()


def _greet(host: str, port: int, path: str, ready_at: int) -> None:
    while not _ready(host, ready_at):
        _AGAIN.wait(0.2)
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"
    with suppress(OSError):  # nobody reads
        typer.echo(f"mcpfleet serves {url}\nTry it:\n  {curl(url)}")


def _ready(host: str, port: int) -> bool:
    """Whether a process answers that it is ready; the listening socket holds the question until one can."""
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def curl(url: str) -> str:
    """A shell command that lists the tools of the server at the URL."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": LATEST.date,
        "io.modelcontextprotocol/clientInfo": {"name": "curl", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": LATEST.date,
        "Mcp-Method": "tools/list",
    }
    words = ["curl", "-sS", url]
    for name, value in headers.items():
        words += ["-H", f"{name}: {value}"]
    return shlex.join([*words, "-d", json.dumps(body, separators=(",", ":"))])
