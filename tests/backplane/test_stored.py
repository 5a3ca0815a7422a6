import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpfleet.backplane.stored import pack, unpack
from mcpfleet.errors import UnknownFormat


class Point(msgspec.Struct, frozen=True):
    x: int
    label: bytes | None = None


class PointWithMore(msgspec.Struct, frozen=True):
    x: int
    label: bytes | None = None
    colour: str = "black"


@given(st.integers(-(2**63), 2**63 - 1), st.none() | st.binary())
def test_what_was_packed_is_unpacked(x: int, label: bytes | None) -> None:
    assert unpack(Point, pack(Point(x, label))) == Point(x, label)


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_is_refused_by_its_number_and_the_kind_of_value(version: int) -> None:
    stored = bytes([version]) + pack(Point(1))[1:]
    with pytest.raises(UnknownFormat, match=rf"Point is stored as format {version}; this build knows format 1"):
        unpack(Point, stored)


def test_an_empty_value_is_refused() -> None:
    with pytest.raises(UnknownFormat, match="Point is stored as nothing"):
        unpack(Point, b"")


@given(st.binary())
def test_garbage_is_refused_as_an_unknown_format_and_as_nothing_else(garbage: bytes) -> None:
    with contextlib.suppress(UnknownFormat):
        unpack(Point, b"\x01" + garbage)
        assert msgspec.msgpack.decode(garbage, type=Point)


@given(st.binary(min_size=1))
def test_a_value_with_something_after_it_is_refused(more: bytes) -> None:
    with pytest.raises(UnknownFormat):
        unpack(Point, pack(Point(1, b"here")) + more)


def test_a_value_cut_anywhere_is_refused() -> None:
    whole = pack(Point(1, b"here"))
    for length in range(len(whole)):
        with pytest.raises(UnknownFormat):
            unpack(Point, whole[:length])


def test_a_struct_may_gain_a_field_that_has_a_default() -> None:
    assert unpack(PointWithMore, pack(Point(1, b"old"))) == PointWithMore(1, b"old", "black")
    assert unpack(Point, pack(PointWithMore(1, b"new", "red"))) == Point(1, b"new")
