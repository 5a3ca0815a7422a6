from typing import Annotated, Any

import msgspec
import pydantic
import pytest
from typing_extensions import TypeAliasType

from mcpfleet.server import hints
from mcpfleet.server.shapes import Misfit, Native, shape, to_json
from tests.server import fresh
from tests.server.samples import Constrained, Filters, Model, Other, Pair, Point, Stay, Tree


@pytest.mark.parametrize("hint", [int, Point, Tree, Stay, Filters, Pair, list[Point], Annotated[int, "text"], Any])
def test_msgspec_reads_what_it_can(hint: Any) -> None:
    assert isinstance(shape(hint, "x"), Native)


class Holder(msgspec.Struct):
    sizes: list[Constrained]


@pytest.mark.parametrize(
    "hint",
    [
        Model,
        list[Model],
        Model | None,
        Constrained,
        dict[str, Constrained],
        Annotated[int, pydantic.Field(ge=1)],
        Annotated[str, pydantic.StringConstraints(max_length=3)],
        list[Annotated[int, pydantic.Field(ge=1)]],
        pydantic.HttpUrl,
        Stay | Other,
    ],
)
def test_pydantic_reads_what_follows_its_rules(hint: Any) -> None:
    assert not isinstance(shape(hint, "x"), Native)


def test_rules_of_pydantics_are_found_however_deep() -> None:
    assert hints.is_pydantics(Holder)
    assert hints.is_pydantics(dict[str, list[Holder | None]])
    assert not hints.is_pydantics(dict[str, list[Tree | None]])


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (object, Any),
        (dict[str, object], dict[str, Any]),
        (list[dict[str, object]], list[dict[str, Any]]),
        (tuple[object, ...], tuple[Any, ...]),
        (Annotated[object, "x"], Annotated[Any, "x"]),
        (list[int], list[int]),
        (list[object] | None, list[Any] | None),
    ],
)
def test_object_takes_anything_wherever_it_stands(hint: Any, expected: Any) -> None:
    assert hints.without_object(hint) == expected
    assert isinstance(shape(hint, "x"), Native)


def test_an_alias_stands_for_its_type() -> None:
    alias = TypeAliasType("alias", Annotated[Model | None, "text"])
    assert hints.members(alias) == (Model, type(None))
    assert hints.is_pydantics(TypeAliasType("other", list[Model]))
    assert shape(alias, "x").read({"count": 1}, "x") == Model(count=1)


def test_sets_are_written_in_one_order_where_that_counts() -> None:
    names = {f"name{number}" for number in range(20)}
    assert to_json(names, stable=True) == sorted(names)
    foreign = shape(set[Annotated[str, pydantic.StringConstraints(max_length=9)]], "x")
    assert foreign.write(names, stable=True) == sorted(names)


def test_a_misfit_counts_every_complaint_of_pydantics() -> None:
    with pytest.raises(Misfit) as misfit:
        shape(list[Model], "x").read([{"count": "1"}, {}], "models")
    assert sorted(misfit.value.complaints) == [
        'models[0].count: "1" is not of type "integer"',
        "models[1].count: required, but missing",
    ]


WITHOUT_PYDANTIC = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pydantic":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""

NATIVE = """
import sys
from dataclasses import dataclass
from mcpfleet.server.tool import compile_tool

@dataclass
class Stay:
    city: str

def book(stay: Stay, extra: dict[str, object] | None = None) -> Stay:
    return stay

tool = compile_tool(book, context_type=type("Context", (), {}))
print(tool.definition.input_schema["required"], "pydantic" in sys.modules)
"""

NEEDS_PYDANTIC = """
from dataclasses import dataclass
from mcpfleet.errors import RegistrationError
from mcpfleet.server.tool import compile_tool

@dataclass
class A:
    a: int

@dataclass
class B:
    b: int

def choose(which: A | B) -> None: ...

try:
    compile_tool(choose, context_type=type("Context", (), {}))
except RegistrationError as error:
    print(error)
"""


def test_pydantic_is_not_imported_unless_a_hint_needs_it() -> None:
    assert fresh.run(NATIVE) == "['stay'] False\n"


def test_without_pydantic_everything_else_works_and_what_needs_it_is_named() -> None:
    assert fresh.run(WITHOUT_PYDANTIC + NATIVE) == "['stay'] False\n"
    message = fresh.run(WITHOUT_PYDANTIC + NEEDS_PYDANTIC)
    assert message.startswith("tool 'choose': parameter 'which': Type unions may not contain more than one ")
    assert message.endswith(", and pydantic is not installed\n")
