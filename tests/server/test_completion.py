"""Suggestions: what a function may take and return, and how many a client gets."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from mcpfleet.errors import OutputRefused, RegistrationError
from mcpfleet.protocol.messages import Completion
from mcpfleet.server.completion import Completer, compile_completer, completion, matching
from mcpfleet.server.threads import Threads


class Context:
    pass


@pytest.fixture
async def threads() -> AsyncIterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


MANY = tuple(str(number) for number in range(150))


def compiled(function: Any, **options: Any) -> Completer:
    return compile_completer(function, "prompt", "review", "language", context_type=Context, **options)


def nothing() -> None: ...


def endless() -> Iterator[str]:
    number = 0
    while True:
        yield str(number)
        number += 1


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, Completion((), 0, False)),
        ([], Completion((), 0, False)),
        (["a", "b"], Completion(("a", "b"), 2, False)),
        (("a",), Completion(("a",), 1, False)),
        ({"a": 1}, Completion(("a",), 1, False)),
        (MANY[:100], Completion(MANY[:100], 100, False)),
        (MANY, Completion(MANY[:100], 150, True)),
        (iter(["a"]), Completion(("a",), 1, False)),
        (iter(MANY[:100]), Completion(MANY[:100], 100, False)),
        (endless(), Completion(MANY[:100], None, True)),
        (Completion(["a"], 10, True), Completion(("a",), 10, True)),
        (Completion(["a"], 10), Completion(("a",), 10, True)),
        (Completion(["a"], 10, False), Completion(("a",), 10, False)),
        (Completion(["a"], 1), Completion(("a",), 1, False)),
        (Completion(["a"]), Completion(("a",), None, False)),
        (Completion([]), Completion((), None, False)),
        (Completion(MANY, 1000), Completion(MANY[:100], 1000, True)),
    ],
)
def test_a_client_gets_a_hundred_values_at_most_and_is_told_of_more(value: Any, told: Completion) -> None:
    """Completion, "Completion Results": maximum 100 items per response."""
    assert completion(value) == told


@pytest.mark.parametrize("value", ["abc", 5, [1], ["a", None], Completion([b"a"])])  # type: ignore[list-item]  # the case
def test_anything_else_is_the_functions_fault(value: Any) -> None:
    with pytest.raises(OutputRefused, match="the completion returned"):
        completion(value)


def test_choices_are_matched_by_how_they_begin_whatever_their_case() -> None:
    choices = ("Python", "pytorch", "Rust")
    assert matching(choices, "PY") == Completion(("Python", "pytorch"), 2, False)
    assert matching(choices, "") == Completion(choices, 3, False)
    assert matching((), "a") == Completion((), 0, False)


async def test_a_function_takes_what_it_names(threads: Threads) -> None:
    def everything(value: str, argument: str, arguments: dict[str, str], ctx: Context) -> list[str]:
        return [value, argument, *arguments.values(), type(ctx).__name__]

    async def little() -> list[str]:
        return ["a"]

    for function, values in ((everything, ("py", "language", "x", "Context")), (little, ("a",))):
        got = await compiled(function).complete("language", "py", {"other": "x"}, Context(), threads)
        assert got.values == values


async def test_a_class_or_an_instance_suggests(threads: Threads) -> None:
    class Words:
        """What begins so."""

        async def __call__(self, value: str) -> list[str]:
            return [f"{value}!"]

    for words in (Words, Words()):
        assert (await compiled(words).complete("language", "py", {}, Context(), threads)).values == ("py!",)


def test_a_function_that_wants_more_is_refused() -> None:
    def function(value: str, more: str) -> list[str]:
        return []

    with pytest.raises(RegistrationError, match="parameter 'more' is none of value, argument, arguments"):
        compiled(function)
    with pytest.raises(RegistrationError, match="timeout"):
        compiled(nothing, timeout=0)


def test_a_completer_is_known_by_what_it_completes() -> None:
    one = compiled(nothing)
    assert one.key == ("prompt", "review", "language")
    assert one.renamed("crm_review").key == ("prompt", "crm_review", "language")
