"""Names of methods: the protocol's own, and those that are free."""

import pytest

from mcpfleet.protocol import methods


@pytest.mark.parametrize(
    "name",
    [
        *("initialize", "ping", "tools/call", "resources/subscribe", "sampling/createMessage", "subscriptions/listen"),
        *("notifications/cancelled", "notifications/mine", "rpc.discover", "tasks/get", "skills/list"),
        "resources/directory/read",
    ],
)
def test_what_any_revision_has_is_standard(name: str) -> None:
    assert methods.is_standard(name)
    assert methods.is_name(name)


@pytest.mark.parametrize("name", ["acme/add", "add", "tools/mine", "task/get", "$/progress", "a.b/c-d_e", "x" * 128])
def test_any_other_name_is_free(name: str) -> None:
    assert not methods.is_standard(name)
    assert methods.is_name(name)


@pytest.mark.parametrize("name", ["", "/", "a/", "/a", "a//b", "a b", "ä", "a\n", "x" * 129])
def test_what_no_header_could_repeat_is_no_name(name: str) -> None:
    assert not methods.is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("notifications/cancelled", "notifications/roots/list_changed", "notifications/mine"),
        *("notifications/tasks/status", "notifications/skills/x", "rpc.x", "tasks/x", "tools/call"),
    ],
)
def test_a_notification_that_any_revision_or_extension_has_is_standard(name: str) -> None:
    assert methods.is_standard_notification(name)


@pytest.mark.parametrize("name", ["acme/moved", "moved", "notifications/acme/moved", "notifications/tools/mine"])
def test_any_other_notification_is_free(name: str) -> None:
    assert not methods.is_standard_notification(name)
