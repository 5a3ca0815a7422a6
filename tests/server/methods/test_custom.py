"""Methods of the author's own, beside the protocol's and never over one of them."""

import asyncio
from typing import Any, Literal

import pytest

from mcpfleet import Context, ProtocolError, RegistrationError, Server
from mcpfleet.protocol.revisions import LATEST, LATEST_LEGACY, Revision
from mcpfleet.server.outcome import Refusal
from tests.server.methods.desk import asking

eras = pytest.mark.parametrize("revision", [LATEST_LEGACY, LATEST], ids=["legacy", "modern"])


@pytest.fixture
def server() -> Server:
    server = Server("s")

    @server.method("acme/add")
    def add(a: int, b: int = 1) -> dict[str, int]:
        return {"sum": a + b}

    return server


@eras
async def test_a_method_takes_params_as_a_tool_takes_arguments(server: Server, revision: Revision) -> None:
    async with asking(server) as desk:
        for params, total in (
            ({"a": 1, "b": 2}, 3),
            ({"a": 1.0, "b": None}, 2),
            ({"a": 2**70, "other": True, "_meta": {"a": 5}}, 2**70 + 1),
        ):
            assert await desk.result("acme/add", params, revision=revision) == {"sum": total}
        refused = await desk.refusal("acme/add", {"a": "x"}, revision=revision)
        assert (refused.code, refused.message) == (-32602, "a: Expected int, got str")
        refused = await desk.refusal("acme/add", revision=revision)
        assert (refused.code, refused.message) == (-32602, "a: required, but missing")
        assert (await desk.refusal("acme/other", revision=revision)).code == -32601


async def test_a_class_or_an_instance_is_a_method() -> None:
    class Double:
        """Twice as much."""

        def __call__(self, a: int) -> dict[str, int]:
            return {"double": 2 * a}

    server = Server("s")
    assert server.method("acme/double")(Double) is Double
    server.method("acme/twice")(Double())
    async with asking(server) as desk:
        for name in ("acme/double", "acme/twice"):
            assert await desk.result(name, {"a": 2}) == {"double": 4}


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, {}),
        ({"a": [1]}, {"a": [1]}),
        (8, {"result": 8}),
        ([1], {"result": [1]}),
        ("a", {"result": "a"}),
        (False, {"result": False}),
    ],
)
async def test_every_result_is_an_object(value: Any, result: dict[str, Any]) -> None:
    server = Server("s")
    server.method("acme/give")(lambda: value)
    async with asking(server) as desk:
        assert await desk.result("acme/give") == result


@pytest.mark.parametrize("value", [object(), {"a": object()}])
async def test_what_has_no_json_form_is_an_internal_error(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = Server("s")
    server.method("acme/give")(lambda: value)
    async with asking(server) as desk:
        assert (await desk.refusal("acme/give")).code == -32603
    assert "no JSON form" in caplog.text


async def test_a_method_has_a_context_a_time_and_errors_of_its_own() -> None:
    server = Server("s")

    @server.method("acme/slow", timeout=0.05)
    async def slow(ctx: Context, how: Literal["slow", "fail"] = "slow") -> None:
        if how == "fail":
            raise ProtocolError(7, f"in {ctx.protocol_version}", {"a": 1})
        await asyncio.Event().wait()

    async with asking(server) as desk:
        refused = await desk.refusal("acme/slow")
        assert refused == Refusal(-32603, "The call did not finish within 0.05 seconds.")
        refused = await desk.refusal("acme/slow", {"how": "fail"})
        assert refused == Refusal(7, f"in {LATEST.date}", {"a": 1})


@pytest.mark.parametrize(
    "name", ["tools/call", "ping", "initialize", "subscriptions/listen", "notifications/x", "tasks/get", "rpc.x"]
)
def test_a_name_of_the_protocols_is_refused(name: str) -> None:
    with pytest.raises(RegistrationError, match="belongs to the protocol"):
        Server("s").method(name)(lambda: None)


@pytest.mark.parametrize("name", ["", "a b", "ü", "/a", "x" * 129, 5])
def test_a_name_that_cannot_be_sent_is_refused(name: Any) -> None:
    with pytest.raises(RegistrationError, match="is no method name"):
        Server("s").method(name)(lambda: None)


def test_a_name_is_taken_once_and_included_under_a_prefix(server: Server) -> None:
    with pytest.raises(RegistrationError, match="is registered already"):
        server.method("acme/add")(lambda: None)
    outer = Server("outer")
    outer.include(server, prefix="crm/")
    assert [one.name for one in outer.registry.methods] == ["crm/acme/add"]
    with pytest.raises(RegistrationError, match="belongs to the protocol"):
        Server("other").include(server, prefix="tasks/")
    with pytest.raises(RegistrationError, match="timeout"):
        server.method("acme/x", timeout=-1)(lambda: None)
