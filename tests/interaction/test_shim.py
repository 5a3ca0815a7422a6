"""Handlers that speak of rounds themselves, called by legacy clients: what they want asked is asked by requests."""

import pytest

from tests.fleets import Fleet
from tests.interaction.test_questions import ABLE, asked
from tests.wire import LATEST_HANDSHAKE, connected


async def test_what_a_handler_wants_asked_is_asked_by_a_request(asking_fleet: Fleet) -> None:
    """Elicitation, "Message Flow": the client sees a question like any other."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("by_hand", pin=0) as stream,
    ):
        question = await asked(stream)
        assert question["params"]["message"] == "Who?"
        await client.answer(question["id"], {"action": "accept", "content": {"name": "Ada"}})
        assert (await stream.answer()).replies[-1]["result"]["content"][0]["text"] == "Hello, Ada!"


async def test_round_follows_round_and_the_state_stays_here(asking_fleet: Fleet) -> None:
    """Overview, "Requests": nothing of rounds reaches a client that does not know them."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling("stepwise") as stream,
    ):
        for number in range(3):
            questions = {each["method"]: each for each in [await asked(stream), await asked(stream)]}
            assert questions["elicitation/create"]["params"]["message"] == f"Step {number}?"
            await client.answer(questions["roots/list"]["id"], {"roots": []})
            await client.answer(questions["elicitation/create"]["id"], {"action": "decline"})
        result = (await stream.answer()).replies[-1]["result"]
        assert result["content"][0]["text"] == "after 3 rounds: ['client_roots', 'step']"
        assert "resultType" not in result


async def test_a_handler_that_never_has_enough_is_stopped(asking_fleet: Fleet) -> None:
    """Multi Round-Trip Requests, "Server Requirements (Basic Workflow)": rounds without end would be a call without."""
    async with connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client:
        error = (await client.call("restless")).error
        assert (error["code"], error["data"]["reason"]) == (-32603, "input_required")


@pytest.mark.parametrize("tool", ["by_hand", "stepwise"])
async def test_an_error_of_the_client_ends_the_call(asking_fleet: Fleet, tool: str) -> None:
    """Sampling, "Error Handling": what else was asked is withdrawn."""
    async with (
        connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities=ABLE) as client,
        client.calling(tool) as stream,
    ):
        question = await asked(stream)
        await client.answer(question["id"], error={"code": -1, "message": "No"})
        error = (await stream.answer()).replies[-1]["error"]
        assert (error["code"], error["data"]["reason"]) == (-32603, "input_required")


async def test_what_the_client_did_not_declare_is_not_asked(asking_fleet: Fleet) -> None:
    """Lifecycle, "Operation": only use capabilities that were successfully negotiated."""
    async with connected(asking_fleet.url, LATEST_HANDSHAKE, capabilities={"roots": {}}) as client:
        error = (await client.call("by_hand")).error
        assert (error["code"], error["data"]) == (-32600, {"requiredCapabilities": {"elicitation": {"form": {}}}})
