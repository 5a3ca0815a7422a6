"""Bodies to messages and back."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.protocol import jsonrpc
from mcpfleet.protocol.jsonrpc import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Batch,
    ErrorObject,
    Failure,
    Malformed,
    NotFinite,
    Notification,
    Reply,
    Request,
    decode,
)

ids = st.text() | st.integers()


def body(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (body(id=1, method="ping"), Request(1, "ping", {})),
        (body(id="1", method="ping", params={"a": [1]}), Request("1", "ping", {"a": [1]})),
        (body(id="", method="ping"), Request("", "ping")),
        (body(id=0, method="ping", extra=True), Request(0, "ping")),
        (body(method="notifications/x"), Notification("notifications/x", {})),
        (body(method="notifications/x", params={"a": None}), Notification("notifications/x", {"a": None})),
        (body(id=7, result={"a": 1}), Reply(7, {"a": 1})),
        (body(id="s", error={"code": -1, "message": "m"}), Failure("s", ErrorObject(-1, "m", None))),
        (body(id=2, error={"code": 1, "message": "", "data": [0]}), Failure(2, ErrorObject(1, "", [0]))),
        (body(error={"code": 1, "message": "m"}), Failure(None, ErrorObject(1, "m"))),
        (body(id=None, error={"code": 1, "message": "m"}), Failure(None, ErrorObject(1, "m"))),
    ],
)
def test_each_kind_of_message_is_told_by_its_members(read: bytes, message: object) -> None:
    assert decode(read) == message


@given(ids)
def test_an_id_is_echoed_in_kind_and_to_the_last_digit(request_id: str | int) -> None:
    """Overview, "Responses": a result MUST include the id of its request."""
    message = decode(body(id=request_id, method="m"))
    assert isinstance(message, Request)
    assert type(message.id) is type(request_id)
    assert json.loads(jsonrpc.encode_reply(message.id, {}))["id"] == request_id
    assert json.loads(jsonrpc.encode_failure(message.id, -1, ""))["id"] == request_id


def test_a_number_and_the_same_digits_as_text_are_two_ids() -> None:
    number, text = decode(body(id=1, method="m")), decode(body(id="1", method="m"))
    assert number == Request(1, "m")
    assert text == Request("1", "m")
    assert number != text


@pytest.mark.parametrize(
    "request_id", [2**53 + 1, 2**60, 2**64, -(2**70), 10**4000], ids=lambda number: number.bit_length()
)
def test_an_id_beyond_any_machine_word_is_echoed_exactly(request_id: int) -> None:
    message = decode(b'{"jsonrpc":"2.0","method":"m","id":%d}' % request_id)
    assert isinstance(message, Request)
    assert b'"id":%d,' % request_id in jsonrpc.encode_reply(message.id, {})


@pytest.mark.parametrize("request_id", ["null", "true", "false", "1.0", "1.5", "1e2", "[]", "{}", "[1]"])
def test_an_id_that_is_no_string_and_no_integer_is_refused(request_id: str) -> None:
    """Overview, "Requests": an id MUST be a string or integer and MUST NOT be null."""
    for rest in ('"method":"m"', '"result":{}'):
        read = f'{{"jsonrpc":"2.0","id":{request_id},{rest}}}'.encode()
        assert decode(read) == Malformed(INVALID_REQUEST, "an id is not a string or an integer")


@pytest.mark.parametrize("request_id", ["true", "1.5", "[]", "{}"])
def test_an_error_may_have_lost_its_id_but_has_no_other_kind_of_id(request_id: str) -> None:
    read = f'{{"jsonrpc":"2.0","id":{request_id},"error":{{"code":1,"message":""}}}}'.encode()
    assert decode(read) == Malformed(INVALID_REQUEST, "an id is not a string or an integer")


@pytest.mark.parametrize(
    ("read", "code", "echoed"),
    [
        (b"", PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m"', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}', PARSE_ERROR, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1e400}}', PARSE_ERROR, None),
        (b"1", INVALID_REQUEST, None),
        (b'"a"', INVALID_REQUEST, None),
        (b"null", INVALID_REQUEST, None),
        (b"[]", INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"id":3,"method":"m"}', INVALID_REQUEST, 3),
        (b'{"jsonrpc":"1.0","id":"x","method":"m"}', INVALID_REQUEST, "x"),
        (b'{"jsonrpc":2.0,"id":3,"method":"m"}', INVALID_REQUEST, 3),
        (body(id=4), INVALID_REQUEST, 4),
        (body(id=4, method=1), INVALID_REQUEST, 4),
        (body(method=None), INVALID_REQUEST, None),
        (body(id=4, method="m", result={}), INVALID_REQUEST, 4),
        (body(id=4, result={}, error={"code": 1, "message": ""}), INVALID_REQUEST, 4),
        (body(id=4, result=[]), INVALID_REQUEST, 4),
        (body(id=4, result=None), INVALID_REQUEST, 4),
        (body(result={}), INVALID_REQUEST, None),
        (body(id=4, error=None), INVALID_REQUEST, 4),
        (body(id=4, error={"code": 1.5, "message": ""}), INVALID_REQUEST, 4),
        (body(id=4, error={"code": True, "message": ""}), INVALID_REQUEST, 4),
        (body(id=4, error={"code": 1}), INVALID_REQUEST, 4),
        (body(id=5, method="m", params=[]), INVALID_PARAMS, 5),
        (body(id=5, method="m", params=None), INVALID_PARAMS, 5),
        (body(method="m", params="x"), INVALID_PARAMS, None),
        (body(id=5, method="m", params={"a": [[[[]]]]}), INVALID_REQUEST, None),
    ],
)
def test_what_is_no_message_says_why_and_keeps_the_id_if_it_could_be_read(
    read: bytes, code: int, echoed: str | int | None
) -> None:
    message = decode(read, max_depth=5)
    assert isinstance(message, Malformed)
    assert (message.code, message.id) == (code, echoed)
    assert message.message


def test_nesting_is_bounded_to_64_unless_told_otherwise() -> None:
    nested = '{"jsonrpc":"2.0","method":"m","params":{"a":' + "[" * 62 + "]" * 62 + "}}"
    assert isinstance(decode(nested.encode()), Notification)
    assert decode(nested.replace("[]", "[[]]").encode()) == Malformed(INVALID_REQUEST, "nested deeper than 64 levels")


def test_values_are_bounded_to_100_000_unless_told_otherwise() -> None:
    """What counts are the brackets and the commas, two of which are not in the array."""
    fits = b'{"jsonrpc":"2.0","method":"m","params":{"a":[' + b"0," * 99_995 + b"0]}}"
    assert isinstance(decode(fits), Notification)
    assert decode(fits.replace(b"[0,", b"[0,0,")) == Malformed(INVALID_REQUEST, "more than 100000 values")
    assert isinstance(decode(fits.replace(b"[0,", b"[0,0,"), max_values=100_001), Notification)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("PARSE_ERROR", -32700),
        ("INVALID_REQUEST", -32600),
        ("METHOD_NOT_FOUND", -32601),
        ("INVALID_PARAMS", -32602),
        ("INTERNAL_ERROR", -32603),
        ("HEADER_MISMATCH", -32020),
        ("MISSING_CLIENT_CAPABILITY", -32021),
        ("UNSUPPORTED_VERSION", -32022),
        ("RESOURCE_NOT_FOUND", -32002),
        ("URL_ELICITATION_REQUIRED", -32042),
    ],
)
def test_an_error_code_has_its_number(name: str, number: int) -> None:
    """Overview, "Error Codes"."""
    assert getattr(jsonrpc, name) == number


def test_a_batch_keeps_its_order_and_answers_for_each_message() -> None:
    """JSON-RPC 2.0, "Batch": each invalid member gets an error of its own."""
    batch = decode(b'[{"jsonrpc":"2.0","id":1,"method":"a"},1,{"jsonrpc":"2.0","method":"b"},[]]')
    assert isinstance(batch, Batch)
    first, second, third, fourth = batch.messages
    assert (first, third) == (Request(1, "a"), Notification("b"))
    assert isinstance(second, Malformed)
    assert isinstance(fourth, Malformed)


def test_a_batch_is_bounded() -> None:
    one = body(method="m")
    assert isinstance(decode(b"[" + b",".join([one] * 100) + b"]"), Batch)
    assert decode(b"[" + b",".join([one] * 101) + b"]") == Malformed(
        INVALID_REQUEST, "a batch has more than 100 messages"
    )


@given(st.binary())
def test_no_bytes_make_reading_raise(read: bytes) -> None:
    decode(read)
    decode(b'{"jsonrpc":"2.0","id":1,"method":' + read + b"}")


def test_a_result_is_written_with_its_id() -> None:
    assert jsonrpc.encode_reply("a", {"b": None}) == b'{"jsonrpc":"2.0","id":"a","result":{"b":null}}'


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_a_result_with_a_number_that_is_not_finite_is_not_written(number: float) -> None:
    with pytest.raises(NotFinite):
        jsonrpc.encode_reply(1, {"structuredContent": {"a": [number]}})


@pytest.mark.parametrize("data", [{"a": 1}, [], 0, ""])
def test_an_error_is_written_with_its_data(data: Any) -> None:
    assert json.loads(jsonrpc.encode_failure(1, -32602, "no", data)) == {
        "jsonrpc": "2.0",
        "id": 1,
        "error": {"code": -32602, "message": "no", "data": data},
    }


def test_an_error_without_a_readable_id_has_none_instead_of_null() -> None:
    """Overview, "Error Responses": `id` is optional, and it is a string or a number."""
    assert jsonrpc.encode_failure(None, -32700, "no") == b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}'


@given(ids, st.text(), st.dictionaries(st.text(), st.integers()))
def test_requests_and_notifications_are_read_as_they_were_written(
    request_id: str | int, method: str, params: dict[str, int]
) -> None:
    assert decode(jsonrpc.encode_request(request_id, method, params)) == Request(request_id, method, params)
    assert decode(jsonrpc.encode_notification(method, params)) == Notification(method, params)


def test_parameters_that_are_empty_are_left_out() -> None:
    assert jsonrpc.encode_request(1, "m") == b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert jsonrpc.encode_notification("m", {}) == b'{"jsonrpc":"2.0","method":"m"}'
