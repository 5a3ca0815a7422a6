"""What a tool sees of its request, and what it may say meanwhile (patterns/progress, utilities/logging)."""

import math
from collections.abc import Mapping
from typing import Any, get_args

import pytest

from mcpfleet import Cancelled, Principal
from mcpfleet.protocol.headers import Headers
from mcpfleet.protocol.messages.notifications import LOG_LEVELS, LogLevel
from mcpfleet.protocol.revisions import LATEST, REVISIONS, Revision
from mcpfleet.server.caller import Caller
from mcpfleet.server.context import Context
from mcpfleet.server.outlet import Silent


class Heard(Silent):
    """An outlet that keeps what is said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Mapping[str, Any]]] = []
        self.newest_of: list[str | None] = []

    async def notify(self, method: str, params: Mapping[str, Any], *, newest_of: str | None = None) -> None:
        self.said.append((method, params))
        self.newest_of.append(newest_of)


@pytest.fixture
def heard() -> Heard:
    return Heard()


def context(
    heard: Heard, *, meta: Mapping[str, Any] | None = None, level: str | None = None, revision: Revision = LATEST
) -> Context:
    caller = Caller(revision, None, Headers(), {"name": "c"}, {"sampling": {}}, level, "session", 7, meta or {})
    return Context(caller, heard)


def reported(heard: Heard) -> list[float]:
    return [params["progress"] for method, params in heard.said if method == "notifications/progress"]


async def test_progress_only_ever_increases(heard: Heard) -> None:
    ctx = context(heard, meta={"progressToken": "t"})
    for value in (1, 2, 2, 1, 2.5, -1, 3):
        await ctx.report_progress(value)
    assert reported(heard) == [1, 2, 2.5, 3]


async def test_progress_may_begin_below_zero(heard: Heard) -> None:
    ctx = context(heard, meta={"progressToken": "t"})
    for value in (-5, 0):
        await ctx.report_progress(value)
    assert reported(heard) == [-5, 0]


@pytest.mark.parametrize("token", [0, "", "t", -1, 2**70])
async def test_every_string_and_integer_is_a_token_and_comes_back_in_its_kind(heard: Heard, token: str | int) -> None:
    await context(heard, meta={"progressToken": token}).report_progress(1)
    ((_, params),) = heard.said
    assert (type(params["progressToken"]), params["progressToken"]) == (type(token), token)


@pytest.mark.parametrize("meta", [{}, {"progressToken": None}, {"progressToken": True}, {"progressToken": 1.0}])
async def test_without_a_token_progress_is_told_to_nobody(heard: Heard, meta: Mapping[str, Any]) -> None:
    await context(heard, meta=meta).report_progress(1)
    assert heard.said == []


async def test_nothing_is_said_after_the_request_has_ended(heard: Heard) -> None:
    ctx = context(heard, meta={"progressToken": 1}, level="debug")
    await ctx.report_progress(1)
    ctx.close()
    await ctx.report_progress(2)
    await ctx.log("emergency", "late")
    assert len(heard.said) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
async def test_what_is_no_number_in_json_is_refused_as_progress(heard: Heard, value: float) -> None:
    ctx = context(heard, meta={"progressToken": 1})
    with pytest.raises(ValueError, match="finite"):
        await ctx.report_progress(value)
    with pytest.raises(ValueError, match="finite"):
        await ctx.report_progress(1, total=value)
    assert heard.said == []


async def test_of_progress_that_waits_only_the_newest_need_go_out_and_of_log_messages_all(heard: Heard) -> None:
    ctx = context(heard, meta={"progressToken": 1}, level="debug")
    await ctx.report_progress(1, total=2, message="half")
    await ctx.log("info", "x")
    assert heard.newest_of == ["progress", None]


@pytest.mark.parametrize("revision", REVISIONS, ids=lambda revision: revision.date)
async def test_a_message_goes_with_progress_where_the_revision_has_one(heard: Heard, revision: Revision) -> None:
    await context(heard, meta={"progressToken": 1}, revision=revision).report_progress(1, 2, "half")
    ((_, params),) = heard.said
    assert params == {
        "progressToken": 1,
        "progress": 1,
        "total": 2,
        **({"message": "half"} if revision.progress_message else {}),
    }


@pytest.mark.parametrize("wanted", LOG_LEVELS)
async def test_messages_are_sent_from_the_level_that_the_client_wants_on(heard: Heard, wanted: str) -> None:
    ctx = context(heard, level=wanted)
    for level in get_args(LogLevel):
        await ctx.log(level, level)
    assert [params["level"] for _, params in heard.said] == [*LOG_LEVELS[LOG_LEVELS.index(wanted) :]]


async def test_a_client_that_asked_for_no_messages_gets_none(heard: Heard) -> None:
    await context(heard).log("emergency", "x")
    assert heard.said == []


async def test_an_unknown_level_is_refused_whether_or_not_anybody_listens(heard: Heard) -> None:
    for level in (None, "debug"):
        with pytest.raises(ValueError, match="loud"):
            await context(heard, level=level).log("loud", "x")  # type: ignore[arg-type]  # the point of the test


async def test_a_message_has_a_logger_if_it_was_given_one(heard: Heard) -> None:
    ctx = context(heard, level="debug")
    await ctx.log("info", {"any": ["json"]}, logger="db")
    await ctx.log("info", None)
    assert [params for _, params in heard.said] == [
        {"level": "info", "data": {"any": ["json"]}, "logger": "db"},
        {"level": "info", "data": None},
    ]


def test_a_cancelled_request_can_be_seen_and_raised(heard: Heard) -> None:
    ctx = context(heard)
    ctx.raise_if_cancelled()
    assert not ctx.cancelled
    ctx.cancel()
    assert ctx.cancelled
    with pytest.raises(Cancelled) as raised:
        ctx.raise_if_cancelled()
    assert (ctx.cancel_reason, raised.value.reason) == (None, None)


def test_a_cancelled_request_tells_the_clients_reason(heard: Heard) -> None:
    ctx = context(heard)
    ctx.cancel("changed my mind")
    assert ctx.cancel_reason == "changed my mind"
    with pytest.raises(Cancelled, match="changed my mind") as raised:
        ctx.raise_if_cancelled()
    assert raised.value.reason == "changed my mind"


def test_a_context_tells_all_that_is_known_of_the_request(heard: Heard) -> None:
    headers, ada = Headers.of({"X-A": "1"}), Principal("ada")
    caller = Caller(LATEST, ada, headers, {"name": "c"}, {"sampling": {}}, None, None, "id", {"a": 1})
    ctx = Context(caller, heard)
    assert (ctx.request_id, ctx.session_id, ctx.principal, ctx.headers) == ("id", None, ada, headers)
    assert (ctx.client_info, ctx.client_capabilities, ctx.meta) == ({"name": "c"}, {"sampling": {}}, {"a": 1})
    assert ctx.protocol_version == LATEST.date


@pytest.mark.parametrize("retry", [-1, math.nan, math.inf])
async def test_nobody_is_told_to_come_back_after_what_is_no_time(heard: Heard, retry: float) -> None:
    with pytest.raises(ValueError, match="seconds"):
        await context(heard).hang_up(retry)
