"""Notifications go one way: whatever becomes of them, nothing answers them ("Overview", "Notifications")."""

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import LEGACY, connected


@pytest.mark.parametrize("date", LEGACY)
async def test_no_notification_is_answered(fleet: Fleet, date: str) -> None:
    """Overview, "Notifications"; Transports, "Sending Messages to the Server": 202 and no body, also for what is not
    known here, or makes no sense."""
    sent: list[tuple[str, Json]] = [
        ("notifications/initialized", {}),
        ("notifications/roots/list_changed", {}),
        ("notifications/cancelled", {"requestId": {}}),
        ("notifications/progress", {"progressToken": "nobody's", "progress": "much"}),
        ("notifications/unheard-of", {"a": 1}),
        ("tools/list", {}),
    ]
    async with connected(fleet.url, date) as client:
        for method, params in sent:
            answer = await client.notify(method, params)
            assert (answer.status, answer.body) == (202, b""), method
        assert (await client.call("echo", x="lives")).text == "lives"
