import functools
from collections.abc import Callable
from typing import Annotated, Any, Optional

import msgspec
import pydantic
import pytest

from mcpfleet.errors import RegistrationError
from mcpfleet.server.signature import REQUIRED, Signature, read


class Context:
    pass


class Narrower(Context):
    pass


def signature(function: Callable[..., Any]) -> Signature:
    return read(function, Context, "tool 'x'")


def described(city: str, days: int = 3, *, units: Annotated[str, "Which scale."] = "c", anything="x") -> list[str]:  # type: ignore[no-untyped-def] # an unannotated parameter is the case
    """Forecast the weather.

    Args:
        city: Where.
        units: Not heeded.
    """
    return [city, str(days), units, anything]


def test_a_parameter_has_a_name_a_hint_a_default_and_a_description() -> None:
    found = signature(described)
    assert [(one.name, one.hint, one.default, one.description) for one in found.parameters] == [
        ("city", str, REQUIRED, "Where."),
        ("days", int, 3, None),
        ("units", Annotated[str, "Which scale."], "c", "Which scale."),
        ("anything", Any, "x", None),
    ]
    assert [one.required for one in found.parameters] == [True, False, False, False]
    assert (found.returns, found.description, found.contexts, found.open) == (
        list[str],
        "Forecast the weather.",
        (),
        False,
    )


def late(
    ctx: "Optional[Context]",  # noqa: UP045 - the older spelling is the case
    a: "int",
    more: "Narrower | None" = None,
) -> "str":
    return f"{ctx}{a}{more}"


def keyword_only(a: int, *, ctx: Annotated[Context, "metadata"]) -> None: ...


def last(a: int, ctx: Context | None = None) -> None: ...


@pytest.mark.parametrize(
    ("function", "contexts"), [(late, ("ctx", "more")), (keyword_only, ("ctx",)), (last, ("ctx",)), (described, ())]
)
def test_the_context_is_found_by_its_annotation_wherever_it_stands(
    function: Callable[..., Any], contexts: tuple[str, ...]
) -> None:
    found = signature(function)
    assert found.contexts == contexts
    assert not set(contexts) & {one.name for one in found.parameters}


def test_string_annotations_are_resolved() -> None:
    assert signature(late).parameters[0].hint is int
    assert signature(late).returns is str


def takes_any(**kwargs: int) -> None: ...


def takes_positions(*args: int) -> None: ...


def takes_a_position(a: int, /) -> None: ...


def takes_mangled(a: int, *, __b: int = 0) -> None: ...


def test_keywords_leave_a_signature_open() -> None:
    assert signature(takes_any).open
    assert signature(takes_any).parameters == ()


@pytest.mark.parametrize(
    ("function", "name"), [(takes_positions, "args"), (takes_a_position, "a"), (takes_mangled, "__b")]
)
def test_what_cannot_be_given_by_name_is_refused(function: Callable[..., Any], name: str) -> None:
    with pytest.raises(RegistrationError, match=f"tool 'x': parameter '{name}' cannot be given by name"):
        signature(function)


def unresolved(a: "Nowhere") -> None:  # type: ignore[name-defined] # noqa: F821 - the name that is missing is the case
    ...


@pytest.mark.parametrize(("function", "words"), [(unresolved, "Nowhere"), (type, "type")])
def test_what_cannot_be_read_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(RegistrationError, match=words):
        signature(function)


class Stateful:
    """What the class says."""

    def __call__(self, a: int) -> str:
        return str(a)

    def method(self, a: int, b: int = 2) -> str:
        """What the method says."""
        return str(a + b)

    @classmethod
    def of(cls, a: int) -> str:
        return str(a)


@pytest.mark.parametrize(
    ("function", "names", "description"),
    [
        (Stateful(), ["a"], "What the class says."),
        (Stateful().method, ["a", "b"], "What the method says."),
        (functools.partial(Stateful().method, 1), ["b"], "What the method says."),
        (functools.partial(functools.partial(described, "Paris"), days=1), ["days", "units", "anything"], None),
        (Stateful.of, ["a"], None),
        (functools.lru_cache(described), ["city", "days", "units", "anything"], None),
    ],
)
def test_other_callables_are_read_like_functions(
    function: Callable[..., Any], names: list[str], description: str | None
) -> None:
    found = signature(function)
    assert [one.name for one in found.parameters] == names
    assert description is None or found.description == description


def with_fields(
    days: int = pydantic.Field(3, ge=1),
    tags: list[str] = pydantic.Field(default_factory=list),  # noqa: B008 - the idiom is the case
    city: str = pydantic.Field(description="Where."),
) -> None: ...


def test_a_field_of_pydantics_as_default_is_metadata_and_a_default() -> None:
    days, tags, city = signature(with_fields).parameters
    assert (days.default, tags.default, city.default) == (3, [], REQUIRED)
    assert isinstance(days.hint.__metadata__[0], pydantic.fields.FieldInfo)


def test_metadata_other_than_text_describes_nothing_here() -> None:
    def function(a: Annotated[int, msgspec.Meta(description="Left to the schema."), 7]) -> None: ...

    assert signature(function).parameters[0].description is None
