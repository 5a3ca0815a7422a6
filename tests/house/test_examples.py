"""The examples are what users copy first, so each one is really served."""

from pathlib import Path

import pytest
from mcp.client import Client

from tests.house.source import ROOT
from tests.processes import Serving, python

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_is_served_and_describes_its_tools(example: str, tmp_path: Path) -> None:
    command = python("-m", "mcpfleet_service.cli", "serve", f"examples.{example}:server", "--port", "0")
    with Serving(command, {"MCPFLEET_DRAIN_DELAY": "0"}, tmp_path / "log") as serving:
        async with Client(serving.await_greeting().url) as client:
            tools = (await client.list_tools()).tools
        assert serving.stop() == 0
    assert tools
    assert [tool.name for tool in tools if not tool.description] == []
