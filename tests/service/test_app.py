"""The composition root: a server, a backplane and settings become an application."""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette

from mcpfleet import Context, Principal, Server, SettingsError
from mcpfleet.backplane.memory import MemoryBackplane, MemoryStore
from mcpfleet.protocol.headers import Headers
from mcpfleet_service.app import create_app, from_environment
from mcpfleet_service.mounting import lifespan_of
from mcpfleet_service.settings import Settings
from mcpfleet_service.store import namespace_of
from tests.redis_server import SharedRedis, connect
from tests.server.wire import LEGACY, MODERN, call, request
from tests.service.live import served

QUICK = Settings(drain_delay=0.0, drain=0.1, lease=0.3)
INITIALIZE = request("initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {}}, 1)


def echoing(name: str = "s") -> Server:
    server = Server(name, version="1")

    @server.tool
    def echo(x: str) -> str:
        return x

    return server


class Client:
    """Sends MCP messages to one URL and follows no redirect."""

    def __init__(self, url: str, http: httpx2.AsyncClient) -> None:
        self.url = url
        self._http = http

    async def post(self, message: Any, path: str = "/mcp", **headers: str) -> httpx2.Response:
        given = {"Accept": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
        return await self._http.post(self.url + path, json=message, headers=given)

    async def get(self, path: str) -> httpx2.Response:
        return await self._http.get(self.url + path)

    async def echo(self, path: str = "/mcp") -> httpx2.Response:
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = request("tools/call", {"name": "echo", "arguments": {"x": "hi"}, "_meta": meta})
        routing = {"MCP_Protocol_Version": MODERN, "Mcp_Method": "tools/call", "Mcp_Name": "echo"}
        return await self.post(message, path, **routing)


@asynccontextmanager
async def client_of(app: Starlette) -> AsyncIterator[Client]:
    """A client of an application that is served with its lifespan."""
    async with served(app, lifespan="on") as url, httpx2.AsyncClient(trust_env=False) as http:
        yield Client(url, http)


async def test_the_endpoint_is_served_with_and_without_a_slash_and_never_redirects() -> None:
    async with client_of(create_app(echoing(), settings=QUICK)) as client:
        for path in ("/mcp", "/mcp/"):
            answer = await client.echo(path)
            assert (answer.status_code, answer.json()["result"]["content"][0]["text"]) == (200, "hi")
        assert (await client.echo("/mcp/more")).status_code == 404
        assert (await client.echo("/")).status_code == 404


@pytest.mark.parametrize(("path", "served_at"), [("/tools", ["/tools", "/tools/"]), ("/a/b", ["/a/b"]), ("/", ["/"])])
async def test_the_endpoint_is_where_the_settings_say(path: str, served_at: list[str]) -> None:
    async with client_of(create_app(echoing(), settings=Settings(path=path, drain=0.1))) as client:
        for each in served_at:
            assert (await client.echo(each)).status_code == 200
        assert (await client.echo("/mcp")).status_code == 404


async def test_users_add_routes_and_middleware_of_their_own() -> None:
    app = create_app(echoing(), settings=QUICK)
    seen: list[str] = []

    @app.get("/hello")
    async def hello() -> str:
        return "there"

    @app.middleware("http")
    async def watch(request: Any, call_next: Any) -> Any:
        seen.append(request.url.path)
        return await call_next(request)

    async with client_of(app) as client:
        assert (await client.get("/hello")).json() == "there"
        assert (await client.echo()).status_code == 200
    assert {"/hello", "/mcp"} <= set(seen)


async def test_an_application_can_be_mounted_into_another_under_any_path() -> None:
    inner = create_app(echoing(), settings=QUICK)
    outer = FastAPI(lifespan=lifespan_of(inner))
    outer.mount("/api", inner)
    async with client_of(outer) as client:
        assert (await client.echo("/api/mcp")).status_code == 200
        assert (await client.echo("/api/mcp/")).status_code == 200
        assert (await client.get("/api/livez")).status_code == 200
        assert (await client.echo("/mcp")).status_code == 404


async def test_an_application_with_a_lifespan_of_its_own_enters_ours_in_it() -> None:
    inner = create_app(echoing(), settings=QUICK)
    told: list[str] = []

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        told.append("mine begins")
        async with lifespan_of(inner)(app):
            yield
        told.append("mine ends")

    outer = FastAPI(lifespan=lifespan)
    outer.mount("/api", inner)
    async with client_of(outer) as client:
        assert (await client.echo("/api/mcp")).status_code == 200
    assert told == ["mine begins", "mine ends"]


async def test_the_lifespan_of_a_mounted_server_lasts_as_long_as_its_application() -> None:
    told: list[str] = []

    async def counted(server: Server) -> AsyncIterator[str]:
        told.append(f"{server.name} begins")
        yield "found"
        told.append(f"{server.name} ends")

    server = Server("s", lifespan=counted)

    @server.tool
    def look(ctx: Context) -> str:
        return f"{ctx.lifespan} {told}"

    inner = create_app(server, settings=QUICK)
    outer = FastAPI(lifespan=lifespan_of(inner))
    outer.mount("/api", inner)
    for _ in range(2):
        told.clear()
        async with client_of(outer) as client:
            session = (await client.post(INITIALIZE, "/api/mcp")).headers["Mcp-Session-Id"]
            answer = await client.post(call("look"), "/api/mcp", Mcp_Session_Id=session)
            assert answer.json()["result"]["content"][0]["text"] == "found ['s begins']"
        assert told == ["s begins", "s ends"]


async def test_several_servers_live_in_one_application_and_share_nothing() -> None:
    first, second = (create_app(echoing(name), settings=QUICK) for name in ("first", "second"))
    outer = Starlette(lifespan=lifespan_of(first, second))
    outer.mount("/first", first)
    outer.mount("/second", second)
    async with client_of(outer) as client:
        answer = await client.post(INITIALIZE, "/first/mcp")
        session = answer.headers["Mcp-Session-Id"]
        assert answer.json()["result"]["serverInfo"]["name"] == "first"
        message = call("echo", x="hi")
        assert (await client.post(message, "/first/mcp", Mcp_Session_Id=session)).status_code == 200
        assert (await client.post(message, "/second/mcp", Mcp_Session_Id=session)).status_code == 404


async def test_an_application_that_is_mounted_without_its_lifespan_says_what_is_missing() -> None:
    outer = FastAPI()
    outer.mount("/api", create_app(echoing(), settings=QUICK))
    transport = httpx2.ASGITransport(app=outer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as http:
        client = Client("http://localhost", http)
        with pytest.raises(RuntimeError, match="lifespan_of"):
            await client.echo("/api/mcp")


async def test_an_application_can_be_started_again() -> None:
    app = create_app(echoing(), settings=QUICK)
    for _ in range(2):
        async with client_of(app) as client:
            assert (await client.echo()).status_code == 200
            assert (await client.get("/readyz")).status_code == 200


async def test_two_applications_on_one_backplane_are_a_fleet() -> None:
    store = MemoryStore()
    first, second = (create_app(echoing(), backplane=MemoryBackplane(store), settings=QUICK) for _ in range(2))
    async with client_of(first) as here, client_of(second) as there:
        session = (await here.post(INITIALIZE)).headers["Mcp-Session-Id"]
        answer = await there.post(call("echo", x="hi"), Mcp_Session_Id=session)
        assert answer.json()["result"]["content"][0]["text"] == "hi"


async def test_a_redis_of_the_settings_is_used_under_the_servers_name(
    redis_server: SharedRedis, namespace: str
) -> None:
    settings = Settings(redis_url=redis_server.url, namespace=namespace, drain=0.1)
    async with client_of(create_app(echoing(), settings=settings)) as client:
        session = (await client.post(INITIALIZE)).headers["Mcp-Session-Id"]
        with connect(redis_server.url) as redis:
            keys = [key.decode() for key in redis.scan_iter(f"{namespace}*")]
        assert any(session in key for key in keys)


@pytest.mark.parametrize("name", ["weather", "my server", "météo", "日本", "x" * 100, "a/b:c{d}"])
def test_every_name_of_a_server_gives_a_namespace_of_its_own(name: str) -> None:
    found = namespace_of(name)
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", found)
    assert found != namespace_of(name + "!")
    assert found == name or "-" in found


def test_names_that_look_alike_as_namespaces_do_not_share_one() -> None:
    assert len({namespace_of(name) for name in ("日本", "中国", "__", "x" * 100, "x" * 101)}) == 5


async def test_clients_see_the_name_that_the_settings_give_and_the_authors_server_keeps_its_own() -> None:
    server = echoing("authors")
    async with client_of(create_app(server, settings=Settings(server_name="operators", drain=0.1))) as client:
        assert (await client.post(INITIALIZE)).json()["result"]["serverInfo"]["name"] == "operators"
        meta = (await client.echo()).json()["result"]["_meta"]
        assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "operators"
    assert server.name == "authors"


async def test_authentication_of_the_application_decides_whose_a_session_is() -> None:
    def authenticate(headers: Headers) -> Principal | None:
        token = headers.get("authorization")
        return None if token is None else Principal(token)

    async with client_of(create_app(echoing(), settings=QUICK, authenticate=authenticate)) as client:
        assert (await client.post(INITIALIZE)).status_code == 401
        session = (await client.post(INITIALIZE, Authorization="ada")).headers["Mcp-Session-Id"]
        message = call("echo", x="hi")
        assert (await client.post(message, Mcp_Session_Id=session, Authorization="ada")).status_code == 200
        assert (await client.post(message, Mcp_Session_Id=session, Authorization="bob")).status_code == 404


async def test_the_settings_bound_bodies_sessions_and_hosts() -> None:
    settings = Settings(max_body=500, max_sessions=1, allowed_hosts=("mcp.example.com",), drain=0.1)
    async with client_of(create_app(echoing(), settings=settings)) as client:
        assert (await client.post(INITIALIZE)).status_code == 403
        host = {"Host": "mcp.example.com"}
        assert (await client.post(call("echo", x="x" * 600), **host)).status_code == 413
        assert (await client.post(INITIALIZE, **host)).status_code == 200
        assert (await client.post(INITIALIZE, **host)).status_code == 503


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without settings of ours."""
    for name in [name for name in os.environ if name.startswith("MCPFLEET_")]:
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Settings(sse=True, stateless=True), "MCPFLEET_STATELESS"),
        (Settings(sse=True, path="/sse"), "MCPFLEET_PATH=/sse"),
        (Settings(sse=True, path="/messages"), "MCPFLEET_PATH=/messages"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_by_name(settings: Settings, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        create_app(echoing(), settings=settings)


async def test_a_mounted_application_tells_the_oldest_transport_its_whole_path() -> None:
    inner = create_app(echoing(), settings=replace(QUICK, sse=True))
    outer = FastAPI(lifespan=lifespan_of(inner))
    outer.mount("/api", inner)
    async with (
        served(outer, lifespan="on") as url,
        httpx2.AsyncClient(trust_env=False) as http,
        http.stream("GET", f"{url}/api/sse") as response,
    ):
        chunks, received = response.aiter_bytes(), b""
        while b"data: " not in received:
            received += await anext(chunks)
    assert b"event: endpoint\ndata: /api/messages?session_id=" in received


async def test_the_environment_names_the_server_to_serve(environ: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "authored.py").write_text(
        "from mcpfleet import Server\nserver = Server('authored')\n@server.tool\ndef echo(x: str) -> str: return x\n"
    )
    environ.syspath_prepend(tmp_path)
    environ.setenv("MCPFLEET_APP", "authored:server")
    environ.setenv("MCPFLEET_PATH", "/here")
    environ.setenv("MCPFLEET_DRAIN_SECONDS", "0.1")
    async with client_of(from_environment()) as client:
        assert (await client.echo("/here")).status_code == 200


def test_an_environment_with_nothing_to_serve_is_refused_by_name(environ: pytest.MonkeyPatch) -> None:
    del environ
    with pytest.raises(SettingsError, match="MCPFLEET_APP"):
        from_environment()


async def test_a_redis_that_cannot_be_used_stops_the_start() -> None:
    app = create_app(echoing(), settings=Settings(redis_url="redis://127.0.0.1:1/0", durability="replicas:1"))
    async with app.router.lifespan_context(app):
        pass  # one that is only away is an outage like any other
    app = create_app(echoing(), settings=Settings(redis_url="redis://127.0.0.1:1/nonsense"))
    with pytest.raises(SettingsError):
        async with app.router.lifespan_context(app):
            pass
