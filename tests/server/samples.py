"""Types of every kind that a parameter may have, and values that fit them."""

import datetime
import enum
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict

import msgspec
import pydantic
from typing_extensions import TypedDict as NewTypedDict


class Point(msgspec.Struct):
    x: int
    y: int = 0


class Tree(msgspec.Struct):
    value: int
    branches: list["Tree"] = []


class Circle(msgspec.Struct, tag=True):
    radius: float


class Square(msgspec.Struct, tag=True):
    side: float


@dataclass
class Stay:
    city: str
    nights: int = 1
    tags: list[str] = field(default_factory=list)


class Filters(TypedDict, total=False):
    limit: int
    units: Literal["c", "f"]


class Pair(NamedTuple):
    left: int
    right: str = "r"


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Even(msgspec.Struct):
    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError("number must be even")


class Model(pydantic.BaseModel):
    count: int
    when: datetime.datetime | None = None

    @pydantic.field_validator("count")
    @classmethod
    def positive(cls, value: int) -> int:
        if value < 0:
            raise ValueError("count must not be negative")
        return value


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: str


class Constrained(NewTypedDict):
    size: Annotated[int, pydantic.Field(ge=1, description="How big.")]


@dataclass
class Other:
    other: int


NOW = datetime.datetime(2026, 7, 28, 12, 30, tzinfo=datetime.UTC)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

READ: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (int, 1.0, 1),
    (int, -0.0, 0),
    (int, 1e20, 10**20),
    (int, 2**53 + 1, 2**53 + 1),
    (int, 2**63, 2**63),
    (int, -(2**80), -(2**80)),
    (float, 1, 1.0),
    (float, 1.5, 1.5),
    (float, -0.0, -0.0),
    (bool, True, True),
    (str, "123", "123"),
    (str, "[1]", "[1]"),
    (str, "{}", "{}"),
    (str, "null", "null"),
    (str, "", ""),
    (str, "a\u2028b\x00😀", "a\u2028b\x00😀"),
    (Any, {"a": [1.0, None]}, {"a": [1.0, None]}),
    (object, "x", "x"),
    (dict[str, object], {"a": [1]}, {"a": [1]}),
    (list[dict[str, object]] | None, [{"a": None}], [{"a": None}]),
    (int | None, None, None),
    (Optional[int], 4, 4),  # noqa: UP045 - the older spelling is the case
    (int | str, "5", "5"),
    (int | str, 5, 5),
    (int | str, 5.0, 5),
    (int | float, 5.0, 5.0),
    (list[int] | str, "[1]", "[1]"),
    (list[int], [1, 2.0], [1, 2]),
    (list[int], "[1, 2]", [1, 2]),
    (set[int], [1, 1, 2], {1, 2}),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[int, ...], [1, 2], (1, 2)),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (dict[int, str], {"1": "a"}, {1: "a"}),
    (dict[str, int], '{"a": 1.0}', {"a": 1}),
    (Literal["a", "b"], "b", "b"),
    (Literal[1, 2], 2.0, 2),
    (Colour, "red", Colour.RED),
    (Level, 2, Level.HIGH),
    (Level, 2.0, Level.HIGH),
    (Decimal, "1.10", Decimal("1.10")),
    (Decimal, 3, Decimal(3)),
    (uuid.UUID, str(ID), ID),
    (datetime.datetime, "2026-07-28T12:30:00Z", NOW),
    (datetime.datetime, "2026-07-28T12:30:00", NOW.replace(tzinfo=None)),
    (datetime.date, "2026-07-28", NOW.date()),
    (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
    (bytes, "aGk=", b"hi"),
    (Point, {"x": 1, "unknown": 2}, Point(1)),
    (Point, '{"x": 1}', Point(1)),
    (Point, ' {"x": 1}', Point(1)),
    (Point | None, None, None),
    (Tree, {"value": 1, "branches": [{"value": 2}]}, Tree(1, [Tree(2)])),
    (Circle | Square, {"type": "Square", "side": 2}, Square(2.0)),
    (list[Point], [{"x": 1}, {"x": 2, "y": 3}], [Point(1), Point(2, 3)]),
    (Stay, {"city": "Rome", "tags": ["a"]}, Stay("Rome", 1, ["a"])),
    (Filters, {"units": "c"}, {"units": "c"}),
    (Pair, [1], Pair(1)),
    (Annotated[int, msgspec.Meta(ge=1)], 1, 1),
    (Annotated[int, "a description"], 1, 1),
    (Model, {"count": 1, "when": "2026-07-28T12:30:00Z"}, Model(count=1, when=NOW)),
    (Model, '{"count": 1.0}', Model(count=1)),
    (Model | None, None, None),
    (list[Model], [{"count": 1}], [Model(count=1)]),
    (Cat | Dog, {"kind": "dog", "name": "Rex"}, Dog(kind="dog", name="Rex")),
    (Annotated[int, pydantic.Field(ge=1)], 2**70, 2**70),
    (Annotated[int, pydantic.Field(ge=1)], 2.0, 2),
    (Stay | Other, {"other": 1}, Other(1)),
    (Constrained, {"size": 2}, {"size": 2}),
    (pydantic.HttpUrl, "https://example.com/x", pydantic.HttpUrl("https://example.com/x")),
]
