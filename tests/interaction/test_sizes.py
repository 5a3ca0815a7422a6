"""What is large arrives whole, or is refused in words ("Transports", "Sending Messages to the Server")."""

import json

import pytest

from tests.fleets import Fleet, Shape
from tests.wire import LATEST_HANDSHAKE, MODERN, connected

THREE = pytest.mark.parametrize("fleet", [Shape("redis", 3)], indirect=True, ids=str)
LARGE = 20 * 1024 * 1024
MAX_BODY = 4 * 1024 * 1024
TOO_LARGE = 33 * 1024 * 1024
"""More than one entry of a stream may carry."""


@THREE
@pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])
async def test_a_result_of_twenty_megabytes_comes_whole_as_json_and_as_a_stream(fleet: Fleet, date: str) -> None:
    """Transports, "Resumability and Redelivery": on a legacy stream it goes through the store, and can be taken up
    elsewhere."""
    async with connected(fleet.url, date) as client:
        plain = await client.call("fill", size=LARGE)
        assert (plain.is_stream, len(plain.text)) == (False, LARGE)
        streamed = await client.call("fill", size=LARGE, pin=0, token="t")
        assert (streamed.is_stream, len(streamed.text)) == (True, LARGE)
        if not client.modern:
            first = next(event.id for event in streamed.events if event.id)
            assert len((await client.resume(first, pin=1)).text) == LARGE


@THREE
@pytest.mark.parametrize("date", [LATEST_HANDSHAKE, MODERN])
async def test_a_request_of_four_megabytes_is_served_and_one_byte_more_is_refused(fleet: Fleet, date: str) -> None:
    """RFC 9110, section 15.5.14: by default, and nothing shorter than the limit is refused for its size."""
    async with connected(fleet.url, date) as client:
        params = client.enveloped({"name": "echo", "arguments": {"x": ""}})
        empty = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        content = "x" * (MAX_BODY - len(empty))
        served, refused = [
            await client.send(
                "POST", empty.replace('"x": ""', f'"x": "{each}"'), headers=client.routing("tools/call", params)
            )
            for each in (content, content + "x")
        ]
        assert served.text == content
        assert (refused.status, refused.error["data"]) == (413, {"reason": "body_too_large"})


@THREE
async def test_a_result_that_no_stream_can_carry_is_an_error_and_the_session_goes_on(fleet: Fleet) -> None:
    """Transports, "Sending Messages to the Server": the stream has its response, whatever it is."""
    async with connected(fleet.url, LATEST_HANDSHAKE) as client:
        answer = await client.call("fill", size=TOO_LARGE, token="t")
        assert (answer.error["code"], answer.error["data"]) == (-32603, {"reason": "result_too_large"})
        assert (await client.call("echo", x="lives")).text == "lives"
