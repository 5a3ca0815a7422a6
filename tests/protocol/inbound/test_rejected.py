"""Refusals as values, and the status of the engine's own errors."""

import json

import pytest

from mcpfleet.protocol.inbound import HTTP_STATUS, Rejected, status_of
from mcpfleet.protocol.revisions import Era


def test_a_refusal_is_a_json_rpc_error() -> None:
    rejected = Rejected(400, -32020, "no", {"a": 1}, "id")
    assert json.loads(rejected.body()) == {
        "jsonrpc": "2.0",
        "id": "id",
        "error": {"code": -32020, "message": "no", "data": {"a": 1}},
    }


def test_a_refusal_without_an_id_has_none_instead_of_null() -> None:
    assert json.loads(Rejected(415, -32600, "no").body()) == {
        "jsonrpc": "2.0",
        "error": {"code": -32600, "message": "no"},
    }


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (-32002, 200),
        (1, 200),
    ],
)
def test_a_modern_error_has_the_status_of_its_code(code: int, status: int) -> None:
    """Streamable HTTP, "Protocol Version Header": an unknown method MUST be 404; the others MUST be 400."""
    assert status_of(code, Era.MODERN) == status
    assert HTTP_STATUS.get(code, 200) == status


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603])
def test_a_legacy_error_is_an_answer_like_any_other(code: int) -> None:
    assert status_of(code, Era.LEGACY) == 200
