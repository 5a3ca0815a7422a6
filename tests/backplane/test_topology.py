"""What nodes say of their Cluster, read as pure text."""

import pytest
from redis.crc import key_slot

from mcpfleet.backplane.dial import Reply
from mcpfleet.backplane.layout import Layout
from mcpfleet.backplane.topology import SLOTS, Address, Redirection, Share, owners, shares, slot_of
from mcpfleet.errors import Unavailable

ASKED = Address("seed", 7000)


def test_the_master_of_a_range_comes_first_and_its_replicas_are_left_out() -> None:
    reply: Reply = [[0, 99, [b"10.0.0.1", 7001, b"id", []], [b"10.0.0.9", 7009, b"id", []]]]
    assert shares(reply, ASKED) == [Share(0, 99, Address("10.0.0.1", 7001))]


@pytest.mark.parametrize("host", [None, b"", b"?"])
def test_a_node_that_does_not_know_its_host_has_that_of_the_asked_one(host: bytes | None) -> None:
    assert shares([[0, 5, [host, 7001, b"id"]]], ASKED) == [Share(0, 5, Address("seed", 7001))]


@pytest.mark.parametrize(
    "reply",
    [
        b"OK",
        None,
        7,
        [b"row"],
        [[0, 5]],
        [[0, 5, []]],
        [[5, 0, [b"h", 1, b"id"]]],
        [[-1, 5, [b"h", 1, b"id"]]],
        [[0, SLOTS, [b"h", 1, b"id"]]],
        [[0, 5, [b"h", b"1", b"id"]]],
    ],
)
def test_what_is_no_map_is_refused(reply: Reply) -> None:
    with pytest.raises(Unavailable, match="seed:7000"):
        shares(reply, ASKED)


def test_every_slot_has_the_owner_of_its_share_or_none() -> None:
    a, b = Address("a", 1), Address("b", 2)
    masters = owners([Share(0, 9, a), Share(10, 10, b), Share(12, SLOTS - 1, a)])
    assert len(masters) == SLOTS
    assert [masters[slot] for slot in (0, 9, 10, 11, 12, SLOTS - 1)] == [a, a, b, None, a, a]


@pytest.mark.parametrize(
    ("text", "slot", "target", "once"),
    [
        ("MOVED 3999 127.0.0.1:6381", 3999, Address("127.0.0.1", 6381), False),
        ("ASK 0 127.0.0.1:6381", 0, Address("127.0.0.1", 6381), True),
        ("MOVED 1 :6381", 1, Address("seed", 6381), False),
        ("MOVED 1 ::1:6381", 1, Address("::1", 6381), False),
        ("MOVED 1 node.example:6381", 1, Address("node.example", 6381), False),
    ],
)
def test_a_redirection_names_a_slot_and_a_node(text: str, slot: int, target: Address, once: bool) -> None:
    assert Redirection.parse(text.split(maxsplit=1)[0], text, ASKED) == Redirection(slot, target, once=once)


@pytest.mark.parametrize(
    "text",
    ["ERR MOVED 1 a:1", "MOVED", "MOVED x a:1", "MOVED 1 a", "MOVED 1 a:x", f"MOVED {SLOTS} a:1", "TRYAGAIN", ""],
)
def test_no_other_error_is_a_redirection(text: str) -> None:
    assert Redirection.parse(text.partition(" ")[0], text, ASKED) is None


def test_everything_of_a_scope_is_in_one_slot() -> None:
    layout = Layout("fleet")
    keys = (layout.cell("s/a/b"), *layout.log("s/l"), layout.pool("s/p"), layout.settled("s"))
    assert {key_slot(key) for key in keys} == {slot_of("s")}


def test_an_address_is_written_as_in_a_url() -> None:
    assert (str(Address("::1", 7)), str(Address("h", 7))) == ("[::1]:7", "h:7")
