"""Classes and instances as tools, prompts and resources, given to the server all at once.

Tools, "Calling Tools"; Prompts, "Getting a Prompt"; Resources, "Reading Resources".
"""

import pytest

from tests.fleets import Fleet
from tests.wire import EVERY, connected


@pytest.mark.parametrize("date", EVERY)
async def test_a_class_is_served_like_a_function(featured: Fleet, date: str) -> None:
    async with connected(featured.url, date) as client:
        tools = {tool["name"]: tool for tool in (await client.request("tools/list")).result["tools"]}
        assert tools["greeting"]["description"] == "Say hello."
        assert tools["greeting"].get("title") == ("A greeting" if date >= "2025-06-18" else None)
        assert (await client.call("greeting", name="Ada")).text == "Hello, Ada"
        prompt = await client.request("prompts/get", {"name": "greeting", "arguments": {"name": "Ada"}})
        assert prompt.result["messages"][0]["content"]["text"] == "Hi, Ada"
        read = await client.request("resources/read", {"uri": "words://ada"})
        assert read.result["contents"][0]["text"] == "Words of, ada"
