"""What a request says about its sender, on a transport without headers."""

from typing import Any

import pytest

from mcpfleet.protocol import revisions
from mcpfleet.protocol.inbound import ModernRequest, Rejected, progress_token, read_envelope
from mcpfleet.protocol.jsonrpc import INVALID_PARAMS, UNSUPPORTED_VERSION, Request
from tests.protocol.inbound.posts import CAPABILITIES_KEY, META, VERSION_KEY, without


def test_a_complete_envelope_is_opened() -> None:
    request = Request(1, "tools/list", {"_meta": dict(META)})
    opened = read_envelope(request)
    assert opened == ModernRequest(revisions.LATEST, request, {"name": "c", "version": "1"}, {})


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        (without(META, CAPABILITIES_KEY), INVALID_PARAMS),
        ({**META, VERSION_KEY: "1900-01-01"}, UNSUPPORTED_VERSION),
        ({**META, "progressToken": []}, INVALID_PARAMS),
    ],
)
def test_an_envelope_that_is_incomplete_or_of_another_version_is_refused(meta: dict[str, Any], code: int) -> None:
    refused = read_envelope(Request("r", "tools/list", {"_meta": meta}))
    assert isinstance(refused, Rejected)
    assert (refused.status, refused.code, refused.id) == (400, code, "r")


@pytest.mark.parametrize(
    ("params", "token"),
    [({}, None), ({"_meta": {}}, None), ({"_meta": "x"}, None), ({"_meta": {"progressToken": ""}}, "")],
)
def test_a_legacy_request_has_its_progress_token_in_the_same_place(params: dict[str, Any], token: str | None) -> None:
    assert progress_token(Request(1, "tools/call", params)) == token


def test_a_progress_token_of_another_type_is_refused() -> None:
    """Progress, "Progress Flow": MUST be a string or integer."""
    refused = progress_token(Request(1, "tools/call", {"_meta": {"progressToken": 0.5}}))
    assert isinstance(refused, Rejected)
    assert (refused.code, refused.id) == (INVALID_PARAMS, 1)
