"""The official clients are asked, and answer, in every era and over every transport.

A legacy client is asked by requests; a modern one by a result that ends its call, and which it answers by a retry.
"""

import asyncio
import json

import pytest

from tests.fleets import Fleet
from tests.interop.conftest import Drivers, where
from tests.interop.driver import SECONDS, Connection, Json, Refused, noted
from tests.interop.subjects import Subject, shows

ELICIT = "elicitation/create"
SAMPLE = "sampling/createMessage"
ROOTS = "roots/list"


class Asked:
    """What a client is asked, and how it answers, one after the other; the last answer stays."""

    def __init__(self, client: Connection, method: str, *answers: Json) -> None:
        self.params: list[Json] = []
        self._answers = list(answers)
        client.answers[method] = self._answer

    def _answer(self, params: Json) -> Json:
        self.params.append(params)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def filled_in(**content: object) -> Json:
    return {"action": "accept", "content": content}


def said(text: str) -> Json:
    return {"role": "assistant", "content": {"type": "text", "text": text}, "model": "m", "stopReason": "endTurn"}


@shows("forms")
async def test_it_fills_in_a_form(client: Connection) -> None:
    asked = Asked(client, ELICIT, filled_in(name="Ada", mood="cool"))
    assert await client.call("ask_greet") == "cool Ada None"
    [question] = asked.params
    assert question["message"] == "Who are you?"
    assert question["requestedSchema"]["required"] == ["name"]
    assert question["requestedSchema"]["properties"]["mood"]["enum"] == ["warm", "cool"]


@shows("forms")
async def test_it_fills_in_fields_of_every_kind(client: Connection) -> None:
    content = {
        "name": "Ada",
        "age": 36,
        "score": 1.5,
        "agreed": False,
        "single": "a",
        "titled": "b",
        "named": "a",
        "several": ["a", "b"],
    }
    asked = Asked(client, ELICIT, filled_in(**content))
    assert await client.call("ask_fill_in") == {"action": "accept", "content": content}
    fields = asked.params[0]["requestedSchema"]["properties"]
    assert fields["titled"]["oneOf"] == [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]
    assert fields["named"]["enumNames"] == ["First", "Second"]
    assert fields["several"]["items"]["enum"] == ["a", "b"]


@shows("forms")
@pytest.mark.parametrize(("action", "told"), [("decline", "declined"), ("cancel", "canceld")])
async def test_it_need_not_fill_in_a_form(client: Connection, action: str, told: str) -> None:
    Asked(client, ELICIT, {"action": action})
    assert await client.call("ask_greet") == told


@shows("refusals to answer")
async def test_it_may_refuse_to_answer_and_the_tool_hears_why(client: Connection) -> None:
    def refuse(params: Json) -> Json:
        raise Refused(-1, "Not now", {"until": "noon"})

    client.answers[ELICIT] = refuse
    result = await client.request("tools/call", {"name": "ask_greet", "arguments": {}})
    assert result["isError"]
    assert result["content"][0]["text"] == "refused: -1 Not now {'until': 'noon'}"


@shows("visits")
async def test_it_sends_its_user_to_a_page(client: Connection) -> None:
    asked = Asked(client, ELICIT, {"action": "accept"})
    assert await client.call("ask_pay") == "accept"
    [question] = asked.params
    assert (question["mode"], question["url"]) == ("url", "https://example.com/pay")


@shows("word that a page is done with")
async def test_it_is_told_that_a_page_is_done_with(client: Connection) -> None:
    asked = Asked(client, ELICIT, {"action": "accept"})
    await client.call("ask_pay")
    assert asked.params[0]["elicitationId"] == "e-1"
    assert await client.heard("notifications/elicitation/complete") == {"elicitationId": "e-1"}


@shows("a demand to visit a page first")
async def test_it_is_told_that_a_page_must_be_visited_first(client: Connection) -> None:
    with pytest.raises(Refused) as refused:
        await client.call("ask_connect")
    assert refused.value.code == -32042
    [visit] = refused.value.data["elicitations"]
    assert (visit["mode"], visit["url"]) == ("url", "https://example.com/connect")


@shows("visits asked for by a result")
async def test_it_visits_a_page_and_comes_back(client: Connection) -> None:
    asked = Asked(client, ELICIT, {"action": "accept"})
    assert await client.call("ask_connect") == "connected"
    assert asked.params[0]["url"] == "https://example.com/connect"


@shows("sampling")
async def test_it_lends_its_model(client: Connection) -> None:
    form = Asked(client, ELICIT, filled_in(name="Ada"))
    model = Asked(client, SAMPLE, said("Paris"))
    assert await client.call("ask_both") == "Ada Paris"
    assert len(form.params) == 1
    [question] = model.params
    assert question["maxTokens"] == 10
    assert question["messages"] == [{"role": "user", "content": {"type": "text", "text": "What is the capital?"}}]


@shows("sampling")
async def test_its_model_uses_tools(client: Connection) -> None:
    use = {"type": "tool_use", "id": "u-1", "name": "add", "input": {"a": 1, "b": 2}}
    first = {"role": "assistant", "content": use, "model": "m", "stopReason": "toolUse"}
    model = Asked(client, SAMPLE, first, said("It is 3."))
    assert await client.call("reckon") == "It is 3."
    assert model.params[0]["tools"][0]["name"] == "add"
    assert model.params[0]["toolChoice"] == {"mode": "required"}
    turns = model.params[-1]["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    result = turns[2]["content"]
    [block] = result if isinstance(result, list) else [result]
    assert (block["type"], block["toolUseId"]) == ("tool_result", "u-1")


@shows("roots")
async def test_it_tells_its_roots(client: Connection) -> None:
    Asked(client, ROOTS, {"roots": [{"uri": "file:///home", "name": "home"}]})
    assert await client.call("ask_where") == ["file:///home"]


@shows("news of roots")
async def test_it_tells_that_its_roots_are_others(client: Connection) -> None:
    session = (await client.call("whoami"))["session"]
    await client.do("notify", {"method": "notifications/roots/list_changed", "params": {}})
    await noted(client, f"roots changed {session}")


@shows("rounds")
async def test_it_is_asked_one_thing_after_the_other_and_nothing_is_done_twice(
    client: Connection, subject: Subject
) -> None:
    asked = Asked(client, ELICIT, filled_in(name="Ada"), filled_in(paid=True))
    tag = f"for {subject}"
    booked = await client.call("ask_booked", room="12", tag=tag)
    assert (booked["name"], booked["paid"]) == ({"name": "Ada"}, {"paid": True})
    assert [question["message"] for question in asked.params] == ["Who?", "Pay?"]
    journals = [await client.call("ask_journal") for _ in range(3)]
    if subject.transport == "stdio":
        journals = journals[:1]
    assert sum(journal.count(f"reserved {tag}") for journal in journals) == 1


@shows("rounds")
async def test_it_is_asked_by_handlers_that_speak_of_rounds_themselves(client: Connection) -> None:
    Asked(client, ELICIT, filled_in(name="Ada"))
    assert await client.call("ask_by_hand") == "Hello, Ada!"
    Asked(client, ELICIT, filled_in(a="yes"))
    Asked(client, ROOTS, {"roots": []})
    assert await client.call("ask_stepwise") == "after 3 rounds: ['client_roots', 'step']"


@shows("rounds")
async def test_prompts_and_resources_ask_it_too(client: Connection) -> None:
    Asked(client, ELICIT, filled_in(topic="Ada"))
    [message] = (await client.request("prompts/get", {"name": "ask_about"}))["messages"]
    assert message["content"]["text"] == "Let us talk about Ada."
    Asked(client, ELICIT, filled_in(allow=True))
    [content] = (await client.request("resources/read", {"uri": "secret://plan"}))["contents"]
    assert content["text"] == "plan is shown"


@shows("rounds by hand")
async def test_it_carries_the_state_itself_and_any_process_takes_it(client: Connection) -> None:
    call = {"name": "ask_booked", "arguments": {"room": "7", "tag": "by hand"}}
    told = []
    answers: Json = {}
    for content in ({"name": "Ada"}, {"paid": True}):
        result = await client.request("tools/call", {**call, **answers}, manual=True)
        assert result["resultType"] == "input_required"
        [(key, question)] = result["inputRequests"].items()
        told.append(question["params"]["message"])
        answers = {"inputResponses": {key: filled_in(**content)}, "requestState": result["requestState"]}
    booked = json.loads((await client.request("tools/call", {**call, **answers}, manual=True))["content"][0]["text"])
    assert told == ["Who?", "Pay?"]
    assert (booked["name"], booked["paid"]) == ({"name": "Ada"}, {"paid": True})


@shows("rounds by hand")
async def test_a_state_that_it_has_changed_is_refused(client: Connection) -> None:
    call = {"name": "ask_stepwise", "arguments": {}}
    state = (await client.request("tools/call", call, manual=True))["requestState"]
    broken = state[:-4] + ("aaaa" if state[-4:] != "aaaa" else "bbbb")
    with pytest.raises(Refused) as refused:
        await client.request("tools/call", {**call, "requestState": broken, "inputResponses": {}}, manual=True)
    assert refused.value.code == -32602


@shows("questions", "http")
async def test_what_it_does_not_declare_it_is_not_asked(subject: Subject, drivers: Drivers, served: Fleet) -> None:
    async with drivers[subject.client].connected(where(subject, served), era=subject.era, can=()) as client:
        for tool in ("ask_greet", "ask_where", "reckon"):
            with pytest.raises((Refused, AssertionError), match="capab"):
                await client.call(tool)


@shows("questions under way")
async def test_a_call_that_it_gives_up_while_it_is_asked_ends_where_it_runs(
    client: Connection, subject: Subject
) -> None:
    asked = asyncio.Event()
    client.answers[ELICIT] = lambda params: asked.set()
    tag = f"given up by {subject}"
    calling = asyncio.create_task(client.call("ask_greet", tag=tag))
    await asyncio.wait_for(asked.wait(), SECONDS)
    calling.cancel()
    await noted(client, f"cancelled {tag}", "ask_journal")
