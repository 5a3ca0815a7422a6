"""Questions to a modern client: the request ends with them, and any process serves the retry ("Multi Round-Trip
Requests")."""

import asyncio
import base64
import secrets
from typing import Any, Final

import pytest

from tests.answer import Answer, Json
from tests.fleets import Fleet
from tests.wire import MODERN, Client, connected

ABLE: Final[Json] = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}}
SAID: Final[Json] = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}


def last(fleet: Fleet) -> int:
    return len(fleet.processes) - 1


async def retry(
    client: Client, tool: str, before: Answer, answers: Json | None, *, pin: int | None = None, **arguments: Any
) -> Answer:
    """Call the tool again, as the client must: with the state, and with answers by the keys of the requests."""
    params: Json = {"name": tool, "arguments": arguments}
    if answers is not None:
        params["inputResponses"] = answers
    if "requestState" in before.result:
        params["requestState"] = before.result["requestState"]
    return await client.request("tools/call", params, as_id=secrets.token_hex(4), pin=pin)


def only_key(answer: Answer) -> str:
    assert answer.result["resultType"] == "input_required", answer
    [key] = answer.result["inputRequests"]
    return str(key)


def accepted(**content: Any) -> Json:
    return {"action": "accept", "content": content}


async def test_a_question_ends_the_request_and_the_answer_is_served_by_any_process(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Basic Workflow": the retry needs nothing but what it carries."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet", pin=0)
        assert (asked.status, asked.result["resultType"]) == (200, "input_required")
        request = asked.result["inputRequests"][only_key(asked)]
        assert request["method"] == "elicitation/create"
        assert request["params"]["mode"] == "form"
        done = await retry(
            client, "greet", asked, {only_key(asked): accepted(name="Ada", age=36)}, pin=last(asking_fleet)
        )
        assert (done.result["resultType"], done.text) == ("complete", "warm Ada 36")


async def test_many_rounds_over_many_processes_do_a_step_once(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": input required on several attempts."""
    tag = secrets.token_hex(4)
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        first = await client.call("booked", pin=0, room="12", tag=tag)
        second = await retry(client, "booked", first, {only_key(first): accepted(name="Ada")}, room="12", tag=tag)
        assert only_key(second) != only_key(first)
        assert second.result["requestState"] != first.result["requestState"]
        done = await retry(client, "booked", second, {only_key(second): accepted(paid=True)}, pin=0, room="12", tag=tag)
        assert done.value["name"] == {"name": "Ada"}
        assert done.value["paid"] == {"paid": True}
        journals = [(await client.call("journal", pin=pin)).value for pin in range(len(asking_fleet.processes))]
        entries = [entry for journal in journals for entry in journal if entry.endswith(tag)]
        assert sorted(entries) == [f"began {tag}"] * 3 + [f"reserved {tag}"]


async def test_several_questions_at_once_are_one_round(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "InputRequests": a map of requests."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("both")
        keys = {request["method"]: key for key, request in asked.result["inputRequests"].items()}
        assert keys.keys() == {"elicitation/create", "sampling/createMessage"}
        half = await retry(client, "both", asked, {keys["sampling/createMessage"]: SAID})
        assert only_key(half) == keys["elicitation/create"], "only what is missing is asked again"
        done = await retry(client, "both", half, {keys["elicitation/create"]: accepted(name="Ada")})
        assert done.text == "Ada Paris"


async def test_branches_that_ask_at_their_own_pace_are_told_apart(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Basic Workflow": an answer finds its question, in whatever order they are asked."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        answer = await client.call("branches")
        rounds = 1
        while answer.result["resultType"] == "input_required":
            given = {
                key: accepted(a=request["params"]["message"]) for key, request in answer.result["inputRequests"].items()
            }
            answer = await retry(client, "branches", answer, given)
            rounds += 1
        assert answer.value == ["{'a': 'quick 1'} {'a': 'quick 2'}", "{'a': 'slow'}"]
        assert rounds <= 4


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_decline_is_a_decline(asking_fleet: Fleet, action: str) -> None:
    """Elicitation, "Response Actions"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        done = await retry(client, "greet", asked, {only_key(asked): {"action": action}})
        assert done.text == f"{action}d"


async def test_roots_are_asked_for_like_everything_else(asking_fleet: Fleet) -> None:
    """Roots, "Listing Roots"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("where")
        assert asked.result["inputRequests"][only_key(asked)] == {"method": "roots/list", "params": {}}
        done = await retry(client, "where", asked, {only_key(asked): {"roots": [{"uri": "file:///a"}]}})
        assert done.value == ["file:///a"]


@pytest.mark.parametrize("answers", [None, {}, {"another": accepted(name="Eve")}])
async def test_what_is_missing_is_asked_for_again_and_what_is_unknown_is_ignored(
    asking_fleet: Fleet, answers: Json | None
) -> None:
    """Multi Round-Trip Requests, "Error Handling"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        again = await retry(client, "greet", asked, answers)
        assert again.result["inputRequests"] == asked.result["inputRequests"]
        assert (await retry(client, "greet", again, {only_key(again): accepted(name="Ada")})).text == "warm Ada None"


async def test_an_answer_to_what_was_never_asked_is_not_believed(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": what comes without a state has no history."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        params = {"name": "greet", "arguments": {}, "inputResponses": {only_key(asked): accepted(name="Eve")}}
        early = await client.request("tools/call", params)
        assert early.result["resultType"] == "input_required"


@pytest.mark.parametrize("answers", [[], "x", 1, {"key": 12345}, {"key": None}])
async def test_answers_that_are_no_map_of_objects_are_refused(asking_fleet: Fleet, answers: Any) -> None:
    """Multi Round-Trip Requests, "Error Handling": protocol errors for what cannot be parsed."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        refused = await retry(client, "greet", asked, answers)
        assert (refused.status, refused.error["code"]) == (400, -32602)


@pytest.mark.parametrize("answer", [{}, {"action": "yes"}, accepted(), accepted(name=""), accepted(name="a", age="x")])
async def test_an_answer_that_does_not_fit_its_question_is_refused(asking_fleet: Fleet, answer: Json) -> None:
    """Multi Round-Trip Requests, "Error Handling": invalid schema."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        refused = await retry(client, "greet", asked, {only_key(asked): answer})
        assert (refused.status, refused.error["code"]) == (400, -32602)
        assert "inputResponses" in refused.error["message"]


async def test_a_state_is_good_for_the_very_request_it_was_made_for_and_says_nothing_of_why_not(
    asking_fleet: Fleet,
) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": bound to the originating request."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet", tag="a")
        answers = {only_key(asked): accepted(name="Ada")}
        state = asked.result["requestState"]
        flipped = bytearray(base64.urlsafe_b64decode(state + "=" * (-len(state) % 4)))
        flipped[-1] ^= 1
        forged = [
            state + "-TAMPERED",
            state[:-4],
            base64.urlsafe_b64encode(flipped).decode().rstrip("="),
            "B" + state[1:],
            state[:2] + "AAAAAAAAAAA" + state[13:],
            "",
            "x",
            "ü",
            "A" * 100_000,
            12,
            None,
        ]
        wrong = [
            {"name": "greet", "arguments": {"tag": "b"}, "requestState": state},
            {"name": "patient", "arguments": {"tag": "a"}, "requestState": state},
            *({"name": "greet", "arguments": {"tag": "a"}, "requestState": each} for each in forged),
        ]
        errors = [await client.request("tools/call", {**each, "inputResponses": answers}) for each in wrong]
        assert {answer.status for answer in errors} == {400}
        assert {(answer.error["code"], answer.error["message"]) for answer in errors} == {
            (-32602, "Invalid or expired requestState")
        }
        assert (await retry(client, "greet", asked, answers, tag="a")).text == "warm Ada None"


async def test_a_state_may_be_used_again_unless_the_server_forbids_it(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": these measures do not guarantee single use."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("greet")
        for name in ("Ada", "Bob"):
            done = await retry(client, "greet", asked, {only_key(asked): accepted(name=name)})
            assert done.text == f"warm {name} None"


@pytest.mark.parametrize(
    ("tool", "capabilities", "lacking"),
    [
        ("greet", {}, {"elicitation": {"form": {}}}),
        ("greet", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("where", {"elicitation": {}}, {"roots": {}}),
    ],
)
async def test_what_the_client_did_not_declare_is_an_error_that_names_it(
    asking_fleet: Fleet, tool: str, capabilities: Json, lacking: Json
) -> None:
    """Overview, "Capability Negotiation": -32021 with the capabilities that are required."""
    async with connected(asking_fleet.url, MODERN, capabilities=capabilities) as client:
        refused = await client.call(tool)
        assert (refused.status, refused.error["code"]) == (400, -32021)
        assert refused.error["data"] == {"requiredCapabilities": lacking}


async def test_there_is_no_ping_of_the_servers(asking_fleet: Fleet) -> None:
    """Key Changes, "Major changes": ping is gone."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        assert (await client.call("ping_back")).result["isError"]


async def test_a_handler_that_asks_something_else_on_the_retry_is_refused(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Basic Workflow": the answer would be one to another question."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("fickle")
        refused = await retry(client, "fickle", asked, {only_key(asked): accepted(a="x")})
        assert refused.error["code"] == -32603


async def test_a_handler_that_takes_no_notice_of_being_cancelled_is_asked_for_all_the_same(
    asking_fleet: Fleet,
) -> None:
    """Multi Round-Trip Requests, "Basic Workflow"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("deaf")
        assert (await retry(client, "deaf", asked, {only_key(asked): accepted(name="a")})).text == "answered"


async def test_a_state_that_would_be_too_large_fails_the_request(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Basic Workflow": nothing is sent that could not be accepted again."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        assert (await client.call("hoarder")).error["code"] == -32603


async def test_many_requests_ask_at_once_and_none_gets_another_ones_answer(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Client Requirements (Basic Workflow)": each affects its own retry only."""

    async def one(client: Client, name: str) -> str:
        asked = await client.call("greet", as_id=name)
        return (await retry(client, "greet", asked, {only_key(asked): accepted(name=name)})).text

    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        names = [f"n{number}" for number in range(12)]
        texts = await asyncio.gather(*(one(client, name) for name in names))
        assert texts == [f"warm {name} None" for name in names]


async def test_a_handler_may_speak_of_rounds_itself_without_a_state(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "InputRequiredResult": keys are the server's, and the state is optional."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.call("by_hand")
        assert (only_key(asked), "requestState" in asked.result) == ("user_name", False)
        given = {"user_name": accepted(name="Alice")}
        assert (await retry(client, "by_hand", asked, given)).text == "Hello, Alice!"
        first = await retry(client, "by_hand", asked, {**given, "unknown": {"a": 1}})
        assert first.text == "Hello, Alice!", "on a first call too, and with more than was asked"
        assert only_key(await retry(client, "by_hand", asked, {"wrong": accepted(name="Eve")})) == "user_name"
        for malformed in (12345, None, {"action": "maybe"}):
            refused = await retry(client, "by_hand", asked, {"user_name": malformed})
            assert (refused.status, refused.error["code"]) == (400, -32602)
        null = await client.request("tools/call", {"name": "by_hand", "inputResponses": None})
        assert (null.status, null.error["code"]) == (400, -32602)


async def test_the_state_of_such_a_handler_is_sealed_and_differs_from_round_to_round(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": an attacker-controlled input."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        answer, states = await client.call("stepwise"), []
        for _ in range(3):
            assert answer.result["inputRequests"].keys() == {"client_roots", "step"}
            states.append(answer.result["requestState"])
            given = {"client_roots": {"roots": []}, "step": accepted(a="x")}
            answer = await retry(client, "stepwise", answer, given)
        assert len({*states, "1", "2", "3"}) == 6
        assert answer.text == "after 3 rounds: ['client_roots', 'step']"
        for forged in ("3", states[0] + "-TAMPERED"):
            refused = await client.request("tools/call", {"name": "stepwise", "requestState": forged})
            assert (refused.status, refused.error["code"]) == (400, -32602)


async def test_such_a_handler_asks_nothing_that_the_client_did_not_declare(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": only declared capabilities."""
    async with connected(asking_fleet.url, MODERN, capabilities={"roots": {}}) as client:
        assert only_key(await client.call("stepwise")) == "client_roots"
        refused = await client.call("by_hand")
        assert (refused.status, refused.error["code"]) == (400, -32021)


async def test_prompts_and_resources_may_ask_too(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Supported Requests"."""
    async with connected(asking_fleet.url, MODERN, capabilities=ABLE) as client:
        asked = await client.request("prompts/get", {"name": "about"})
        answers: Json = {only_key(asked): accepted(topic="tea")}
        done = await client.request("prompts/get", {"name": "about", "inputResponses": answers})
        assert done.result["messages"][0]["content"]["text"] == "Let us talk about tea."
        headers = {"Mcp-Name": "secret://plan"}
        asked = await client.request("resources/read", {"uri": "secret://plan"}, headers=headers)
        assert "ttlMs" not in asked.result
        answers = {only_key(asked): accepted(allow=True)}
        params = {"uri": "secret://plan", "inputResponses": answers, "requestState": asked.result["requestState"]}
        done = await client.request("resources/read", params, headers=headers, pin=last(asking_fleet))
        assert done.result["contents"][0]["text"] == "plan is shown"
