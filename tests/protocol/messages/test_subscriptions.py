"""The filter of `subscriptions/listen`: what it asks for, and what is none ("Subscriptions", "Notification Filter")."""

from typing import Any

import pytest

from mcpfleet.protocol.jsontext import dumps, loads
from mcpfleet.protocol.messages.subscriptions import (
    MAX_TASK_ID,
    MAX_URI,
    MAX_WATCHED,
    Acknowledged,
    SubscriptionFilter,
    read_filter,
)
from mcpfleet.protocol.tasks import MAX_LISTENED

LONGEST = "a:" + "x" * (MAX_URI - 2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, SubscriptionFilter()),
        ({"toolsListChanged": True}, SubscriptionFilter(tools_list_changed=True)),
        ({"promptsListChanged": False, "resourcesListChanged": None}, SubscriptionFilter()),
        ({"resourceSubscriptions": ["b://b", "a://a"]}, SubscriptionFilter(resource_subscriptions=("b://b", "a://a"))),
        ({"com.example/stars": 7}, SubscriptionFilter()),
        (
            {"resourceSubscriptions": [LONGEST] * MAX_WATCHED},
            SubscriptionFilter(resource_subscriptions=(LONGEST,) * MAX_WATCHED),
        ),
        ({"taskIds": ["t", ""]}, SubscriptionFilter(task_ids=("t", ""))),
        ({"taskIds": None}, SubscriptionFilter()),
        (
            {"taskIds": ["x" * MAX_TASK_ID] * MAX_LISTENED},
            SubscriptionFilter(task_ids=("x" * MAX_TASK_ID,) * MAX_LISTENED),
        ),
    ],
)
def test_a_filter_asks_for_what_it_names(given: Any, found: SubscriptionFilter) -> None:
    assert read_filter({"notifications": given}) == found


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "notifications"),
        ([], "notifications"),
        ({"toolsListChanged": 1}, "toolsListChanged"),
        ({"resourceSubscriptions": "a://b"}, "resourceSubscriptions"),
        ({"resourceSubscriptions": [7]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": [""]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": [LONGEST + "x"]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["a://b", "b"]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["a://b\n"]}, "resourceSubscriptions"),
        ({"resourceSubscriptions": ["a://b"] * (MAX_WATCHED + 1)}, "resourceSubscriptions"),
        ({"taskIds": "t"}, "taskIds"),
        ({"taskIds": [7]}, "taskIds"),
        ({"taskIds": ["x" * (MAX_TASK_ID + 1)]}, "taskIds"),
        ({"taskIds": ["t"] * (MAX_LISTENED + 1)}, "taskIds"),
    ],
)
def test_what_is_no_filter_is_told_by_the_name_of_the_field(given: Any, named: str) -> None:
    fault = read_filter({"notifications": given})
    assert isinstance(fault, str)
    assert named in fault


def test_an_acknowledgement_has_only_what_is_honoured() -> None:
    honoured = SubscriptionFilter(tools_list_changed=True, resource_subscriptions=("a://b",))
    told = loads(dumps(Acknowledged(notifications=honoured)))
    assert told == {"notifications": {"toolsListChanged": True, "resourceSubscriptions": ["a://b"]}}
    assert loads(dumps(Acknowledged(notifications=SubscriptionFilter()))) == {"notifications": {}}
