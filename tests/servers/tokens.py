"""The basic server for whoever shows a known token: an application, and the command that serves it."""

import os
import sys
from typing import Final

from fastapi import FastAPI

from mcpfleet.protocol.headers import Headers
from mcpfleet.server.auth import Principal
from mcpfleet_service.app import create_app
from mcpfleet_service.serving import serve
from mcpfleet_service.settings import Settings
from mcpfleet_service.tether import end_with_parent
from tests.servers.basic import server

TOKENS: Final = {
    "alice-1": Principal("alice", "https://a.example", claims={"iat": 1}),
    "alice-2": Principal("alice", "https://a.example", claims={"iat": 2}),
    "bob": Principal("bob", "https://a.example"),
    "other-alice": Principal("alice", "https://b.example"),
    "alice-by-another-client": Principal("alice", "https://a.example", "client"),
}
"""The first two are one party, before and after a refresh; the others are others."""


async def authenticate(headers: Headers) -> Principal | None:
    """Who shows this token."""
    scheme, _, token = (headers.get("Authorization") or "").partition(" ")
    return TOKENS.get(token) if scheme == "Bearer" else None


def application() -> FastAPI:
    """The application of one serving process."""
    end_with_parent()
    return create_app(server, settings=Settings.from_environment(os.environ), authenticate=authenticate)


if __name__ == "__main__":
    sys.exit(serve(Settings.from_environment(os.environ), factory="tests.servers.tokens:application"))
