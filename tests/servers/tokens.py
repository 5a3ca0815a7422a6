"""The basic server for whoever shows a known token: an application, and the command that serves it."""

import os
import sys
from dataclasses import replace
from typing import Final

from fastapi import FastAPI

from mcpfleet import Topic
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
    """Who shows this token; `alice-until-1700000000` is alice's until then, in Unix seconds."""
    scheme, _, token = (headers.get("Authorization") or "").partition(" ")
    if scheme != "Bearer":
        return None
    name, _, until = token.partition("-until-")
    return replace(TOKENS["alice-1"], expires=float(until)) if name == "alice" and until else TOKENS.get(token)


def may_watch(principal: Principal | None, topic: Topic) -> bool:
    """Whether a topic is public, or the principal's own by its URI."""
    return not topic.key.startswith("private://") or (
        principal is not None and topic.key.startswith(f"private://{principal.subject}/")
    )


def application() -> FastAPI:
    """The application of one serving process."""
    end_with_parent()
    server.may_watch(may_watch)
    return create_app(server, settings=Settings.from_environment(os.environ), authenticate=authenticate)


if __name__ == "__main__":
    sys.exit(serve(Settings.from_environment(os.environ), factory="tests.servers.tokens:application"))
