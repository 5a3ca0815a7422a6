"""How a handler that runs again finds what it did before: by what it is, and how often it was done."""

from mcpfleet.server.recurrence import Recurrence

QUESTION = {"method": "elicitation/create", "params": {"message": "Who?"}}


def test_each_thing_has_a_key_of_its_own() -> None:
    run = Recurrence()
    other = {**QUESTION, "params": {"message": "Why?"}}
    keys = [run.key("q", QUESTION), run.key("q", other), run.key("q", QUESTION), run.key("s", QUESTION)]
    assert len(set(keys)) == 4


def test_another_run_that_does_the_same_finds_the_same_keys_in_any_order() -> None:
    first, again = Recurrence(), Recurrence()
    keys = {name: first.key("s", name) for name in ("a", "b")}
    assert {name: again.key("s", name) for name in ("b", "a")} == keys
    assert first.key("s", "a") == again.key("s", "a") != keys["a"]


def test_the_order_of_members_makes_no_other_thing() -> None:
    turned = {"params": {"message": "Who?"}, "method": "elicitation/create"}
    assert Recurrence().key("q", QUESTION) == Recurrence().key("q", turned)
