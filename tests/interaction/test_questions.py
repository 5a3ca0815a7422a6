"""Questions to a legacy client: asked on the call's stream, answered on any process ("Elicitation", "Sampling",
"Roots", "Ping")."""

import asyncio
import json
import secrets
from typing import Any, Final

import pytest

from tests.answer import Answer, Json
from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, Client, Stream, connected

ABLE: Final[Json] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {"listChanged": True}}
WITH_FORMS: Final = tuple(date for date in LEGACY if date >= "2025-06-18")
SAID: Final[Json] = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}

every_legacy = pytest.mark.parametrize("date", LEGACY)
every_with_forms = pytest.mark.parametrize("date", WITH_FORMS)


async def asked(stream: Stream) -> Json:
    """The next request of the server's on a call's stream."""
    while (message := await stream.message()) is not None:
        if "id" in message and "method" in message:
            return message
    raise AssertionError("the stream ended without a question")


def last(fleet: Fleet) -> int:
    return len(fleet.processes) - 1


@every_with_forms
async def test_an_answer_on_any_process_resumes_the_tool(asking_fleet: Fleet, date: str) -> None:
    """Elicitation, "Message Flow": whichever process the answer is sent to."""
    async with (
        connected(asking_fleet.url, date, capabilities=ABLE) as client,
        client.calling("greet", as_id="call", pin=0) as stream,
    ):
        question = await asked(stream)
        assert question["method"] == "elicitation/create"
        assert question["params"]["message"] == "Who are you?"
        assert ("mode" in question["params"]) is (date == LATEST_HANDSHAKE)
        given = await client.answer(
            question["id"], {"action": "accept", "content": {"name": "Ada", "age": 36.0}}, pin=last(asking_fleet)
        )
        assert (given.status, given.body) == (202, b"")
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "warm Ada 36"


async def test_the_form_of_a_type_is_flat_and_says_what_the_type_says(asking_fleet: Fleet) -> None:
    """Elicitation 2025-11-25, "Requested Schema"."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet") as stream,
    ):
        assert (await asked(stream))["params"]["requestedSchema"] == {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "mood": {"type": "string", "enum": ["warm", "cool"], "default": "warm"},
                "age": {"type": "integer"},
            },
            "required": ["name"],
        }


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"action": "accept", "content": {"name": "Ada", "mood": "cool"}}, "cool Ada None"),
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "canceld"),
    ],
)
async def test_accept_decline_and_cancel_are_three_things(asking_fleet: Fleet, answer: Json, text: str) -> None:
    """Elicitation, "Response Actions"."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet") as stream,
    ):
        await client.answer((await asked(stream))["id"], answer)
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == text


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "accept"},
        {"action": "accept", "content": {"name": ""}},
        {"action": "accept", "content": {"name": "Ada", "age": "old"}},
        {"action": "maybe"},
        {},
    ],
)
async def test_an_answer_that_does_not_fit_the_question_fails_the_tool_with_words_about_it(
    asking_fleet: Fleet, answer: Json
) -> None:
    """Elicitation, "Form Mode Security": servers SHOULD validate received data."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet") as stream,
    ):
        assert (await client.answer((await asked(stream))["id"], answer)).status == 202
        result = (await stream.answer()).replies[-1]["result"]
        assert result["isError"]
        assert "Correlation" not in result["content"][0]["text"]


async def test_the_same_answer_again_is_accepted_and_changes_nothing_and_another_one_is_refused(
    asking_fleet: Fleet,
) -> None:
    """Transports, "Sending Messages to the Server": the first answer counts, on whatever process the others come."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", pin=0) as stream,
    ):
        question = await asked(stream)
        first: Json = {"action": "accept", "content": {"name": "First"}}
        for pin in (last(asking_fleet), 0, None):
            assert (await client.answer(question["id"], first, pin=pin)).status == 202
        other = await client.answer(question["id"], {"action": "decline"}, pin=last(asking_fleet))
        assert_nobody_waits(other)
        assert "First" in (await stream.answer()).replies[-1]["result"]["content"][0]["text"]
        assert (await client.answer(question["id"], first)).status == 202
        assert_nobody_waits(await client.answer(question["id"], {"action": "decline"}))


async def test_many_different_answers_at_once_have_one_winner_and_the_tool_gets_that_one(asking_fleet: Fleet) -> None:
    """JSON-RPC 2.0: a request has one response; the first one counts."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", pin=0) as stream,
    ):
        question = await asked(stream)
        names = [f"n{number}" for number in range(6)]
        answers = await asyncio.gather(
            *(client.answer(question["id"], {"action": "accept", "content": {"name": name}}) for name in names)
        )
        won = [name for name, answer in zip(names, answers, strict=True) if answer.status == 202]
        assert len(won) == 1
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == f"warm {won[0]} None"


@every_legacy
@pytest.mark.parametrize("request_id", [1, "unknown", "ask-0123456789abcdef-0123456789abcdef", "ask-x-y"])
async def test_an_answer_that_nobody_asked_for_is_refused(
    asking_fleet: Fleet, date: str, request_id: int | str
) -> None:
    """Transports, "Sending Messages to the Server": input that cannot be accepted is an HTTP error."""
    async with connected(asking_fleet.url, date, capabilities=ABLE) as client:
        assert_nobody_waits(await client.answer(request_id, {"action": "accept"}))
        assert_nobody_waits(await client.answer(request_id, error={"code": -1, "message": "no"}))


async def test_another_session_cannot_answer(asking_fleet: Fleet) -> None:
    """Elicitation, "Security Considerations": bound to the client that was asked."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as stranger,
        client.calling("greet") as stream,
    ):
        question = await asked(stream)
        assert_nobody_waits(await stranger.answer(question["id"], {"action": "accept", "content": {"name": "Eve"}}))
        assert (await client.answer(question["id"], {"action": "decline"})).status == 202
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "declined"


async def test_an_error_reaches_the_tool_as_an_exception(asking_fleet: Fleet) -> None:
    """Sampling, "Error Handling"."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", pin=0) as stream,
    ):
        error = {"code": -1, "message": "User rejected it", "data": {"why": "late"}}
        given = await client.answer((await asked(stream))["id"], error=error, pin=last(asking_fleet))
        assert given.status == 202
        result = (await stream.answer()).replies[-1]["result"]
        assert result["content"][0]["text"] == "refused: -1 User rejected it {'why': 'late'}"


async def test_two_questions_at_once_are_answered_in_any_order(asking_fleet: Fleet) -> None:
    """JSON-RPC 2.0: responses are matched to requests by their ids, in any order."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("both", pin=0) as stream,
    ):
        questions = {each["method"]: each for each in [await asked(stream), await asked(stream)]}
        await client.answer(questions["sampling/createMessage"]["id"], SAID, pin=last(asking_fleet))
        await client.answer(
            questions["elicitation/create"]["id"], {"action": "accept", "content": {"name": "Ada"}}, pin=0
        )
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "Ada Paris"


@every_legacy
async def test_roots_and_pings_are_asked_in_every_revision(asking_fleet: Fleet, date: str) -> None:
    """Roots, "Listing Roots"; Ping, "Behavior Requirements"."""
    async with connected(asking_fleet.url, date, capabilities=ABLE) as client:
        async with client.calling("where", pin=0) as stream:
            question = await asked(stream)
            assert (question["method"], "params" in question) == ("roots/list", False)
            await client.answer(question["id"], {"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]})
            text = (await stream.answer()).replies[-1]["result"]["content"][0]["text"]
            assert json.loads(text) == ["file:///a", "file:///b"]
        async with client.calling("ping_back") as stream:
            question = await asked(stream)
            assert question["method"] == "ping"
            await client.answer(question["id"])
            assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "there"


@every_with_forms
async def test_every_kind_of_field_comes_back(asking_fleet: Fleet, date: str) -> None:
    """Elicitation, "Requested Schema": every primitive type, with defaults and titles where the revision has them."""
    content = {
        "name": "n",
        "age": 1,
        "score": 1.5,
        "agreed": False,
        "single": "a",
        "titled": "b",
        "named": "a",
    }
    async with (
        connected(asking_fleet.url, date, capabilities=ABLE) as client,
        client.calling("fill_in") as stream,
    ):
        question = await asked(stream)
        properties = question["params"]["requestedSchema"]["properties"]
        assert ("oneOf" in properties["titled"], "several" in properties) == ((date == LATEST_HANDSHAKE,) * 2)
        await client.answer(question["id"], {"action": "accept", "content": content})
        text = (await stream.answer()).replies[-1]["result"]["content"][0]["text"]
        assert json.loads(text) == {"action": "accept", "content": content}


@pytest.mark.parametrize(
    ("tool", "date", "capabilities"),
    [
        ("greet", LATEST_HANDSHAKE, {}),
        ("greet", LATEST_HANDSHAKE, {"elicitation": {"url": {}}}),
        ("greet", "2025-03-26", ABLE),
        ("both", LATEST_HANDSHAKE, {"elicitation": {}}),
        ("where", LATEST_HANDSHAKE, {"elicitation": {}}),
    ],
)
async def test_what_the_client_did_not_declare_is_not_asked(
    asking_fleet: Fleet, tool: str, date: str, capabilities: Json
) -> None:
    """Lifecycle, "Operation": only use capabilities that were successfully negotiated."""
    async with connected(asking_fleet.url, date, capabilities=capabilities) as client:
        answer = await client.call(tool)
        assert answer.error["code"] == -32600
        assert answer.error["data"]["requiredCapabilities"]


async def test_a_client_that_takes_no_stream_cannot_be_asked(asking_fleet: Fleet) -> None:
    """Transports, "Sending Messages to the Server": only an SSE stream may carry requests of the server."""
    async with connected(
        asking_fleet.url, LATEST_HANDSHAKE, headers={"Accept": "application/json"}, capabilities=ABLE
    ) as client:
        result = (await client.call("greet")).result
        assert result["isError"]
        assert "cannot be asked" in result["content"][0]["text"]


async def test_a_request_in_a_batch_cannot_ask_and_answers_in_a_batch_are_given(asking_fleet: Fleet) -> None:
    """Transports 2025-03-26, "Sending Messages to the Server": a body may hold several messages of any kind."""
    async with connected(asking_fleet.url, "2025-03-26", capabilities=ABLE) as client:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "where"}}
        refused = await client.send("POST", json.dumps([call]))
        assert "cannot be asked" in refused.messages[0]["result"]["content"][0]["text"]
        async with client.calling("where", pin=0) as stream:
            question = await asked(stream)
            given = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}
            unknown = {"jsonrpc": "2.0", "id": "unknown", "result": {}}
            assert (await client.send("POST", json.dumps([unknown, given]))).status == 202
            assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "[]"
        assert (await client.send("POST", json.dumps([unknown]))).status == 400


@pytest.mark.parametrize("tool", ["patient", "hurried"])
async def test_a_question_that_is_not_answered_in_time_is_withdrawn(asking_fleet: Fleet, tool: str) -> None:
    """Lifecycle, "Timeouts": the sender SHOULD issue a cancellation notification and stop waiting."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling(tool, pin=0) as stream,
    ):
        question = await asked(stream)
        answer = await stream.answer()
        [cancelled] = [each for each in answer.notifications if each["method"] == "notifications/cancelled"]
        assert cancelled["params"]["requestId"] == question["id"]
        text = answer.replies[-1]["result"]["content"][0]["text"]
        assert ("went on: NotAnswered" if tool == "patient" else "did not finish within 0.3 seconds") in text
        assert_nobody_waits(await client.answer(question["id"], {"action": "decline"}, pin=last(asking_fleet)))


async def test_cancelling_the_call_withdraws_its_questions(asking_fleet: Fleet) -> None:
    """Cancellation, "Behavior Requirements": the tool stops, its question with it, and no response follows."""
    tag = secrets.token_hex(4)
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("greet", as_id="c", pin=0, tag=tag) as stream,
    ):
        question = await asked(stream)
        await registered(client, tag, asking_fleet)
        assert (await client.cancel("c", pin=last(asking_fleet))).status == 202
        answer = await stream.answer()
        assert [each["method"] for each in answer.messages[-1:]] == ["notifications/cancelled"]
        assert answer.messages[-1]["params"]["requestId"] == question["id"]
        await journalled(asking_fleet, f"cancelled {tag}")
        assert_nobody_waits(await client.answer(question["id"], {"action": "decline"}, pin=last(asking_fleet)))


async def test_a_resumed_stream_brings_the_question_again_and_its_answer_counts(asking_fleet: Fleet) -> None:
    """Transports, "Resumability and Redelivery": what was asked is not lost with the connection."""
    async with connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        async with client.calling("greet", as_id="c", pin=0) as stream:
            assert (await stream.event()) is not None  # the id that the stream begins with
        async with client.listening(stream.last_event_id, pin=last(asking_fleet)) as resumed:
            question = await asked(resumed)
            await client.answer(question["id"], {"action": "decline"})
            assert (await resumed.answer()).replies[-1]["result"]["content"][0]["text"] == "declined"


@every_legacy
async def test_the_server_hears_that_roots_have_changed(asking_fleet: Fleet, date: str) -> None:
    """Roots, "Root List Changes"; of every body that tells of it."""
    async with connected(asking_fleet.url, date, capabilities=ABLE) as client:
        assert (await client.notify("notifications/roots/list_changed", pin=0)).status == 202
        await journalled(asking_fleet, f"roots changed {client.session_id}")


async def test_a_hook_that_fails_harms_nobody(asking_fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON-RPC 2.0: a notification has no response, whatever comes of it."""
    monkeypatch.setattr("tests.wire.CLIENT_INFO", {"name": "unlucky", "version": "1"})
    async with connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        assert (await client.notify("notifications/roots/list_changed", pin=0)).status == 202
        await journalled(asking_fleet, f"roots changed {client.session_id}")
        assert (await client.request("ping")).status == 200


def assert_nobody_waits(answer: Answer) -> None:
    assert answer.status == 400
    assert answer.error["code"] == -32600
    assert answer.error["data"]["reason"] == "nobody_asked"


async def registered(client: Client, tag: str, fleet: Fleet) -> None:
    """Return once the call runs for long enough to be cancelled by its id."""
    await journalled(fleet, f"asked {tag}")
    assert (await client.request("ping")).status == 200


async def journalled(fleet: Fleet, entry: str, *, within: float = 10.0, pin: int = 0) -> None:
    """Return once the tools of a process have written the entry; ask until then."""
    async with asyncio.timeout(within), connected(fleet.url, MODERN) as client:
        entries: Any = []
        while entry not in entries:
            entries = (await client.call("journal", pin=pin)).value
