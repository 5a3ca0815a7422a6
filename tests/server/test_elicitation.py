"""Forms from types and schemas, and what was filled in as that type ("Elicitation", "Requested Schema")."""

import datetime
import decimal
import uuid
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pydantic
import pytest

from mcpfleet import forms
from mcpfleet.errors import AnswerRefused
from mcpfleet.protocol.messages.elicitation import Action
from mcpfleet.server.elicitation import Elicited, form_of


class Mood(Enum):
    WARM = "warm"
    COOL = "cool"


@dataclass
class Booking:
    name: Annotated[str, msgspec.Meta(min_length=1, title="Name", description="Yours", pattern="^[A-Z]")]
    nights: Annotated[int, msgspec.Meta(ge=1, le=30)] = 2
    price: float | None = None
    breakfast: bool = False
    mood: Mood = Mood.WARM
    extras: list[Literal["bath", "view"]] = field(default_factory=list)
    until: date | None = None


class Guest(pydantic.BaseModel):
    name: str = pydantic.Field(description="Whose", min_length=1)
    room: Literal["single"] = "single"
    floor: int | None = None


class Loose(TypedDict):
    name: str
    note: str | None


def test_a_type_becomes_a_flat_form() -> None:
    assert form_of(Booking).document == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "title": "Name", "description": "Yours"},
            "nights": {"type": "integer", "minimum": 1, "maximum": 30, "default": 2},
            "price": {"type": "number"},
            "breakfast": {"type": "boolean", "default": False},
            "mood": {"type": "string", "enum": ["warm", "cool"], "title": "Mood", "default": "warm"},
            "extras": {"type": "array", "items": {"type": "string", "enum": ["bath", "view"]}, "default": []},
            "until": {"type": "string", "format": "date"},
        },
        "required": ["name"],
    }


def test_what_was_filled_in_becomes_that_type() -> None:
    form = form_of(Booking)
    filled = form.read({"name": "Ada", "price": 9, "mood": "cool", "extras": ["view"], "until": "2030-01-02"})
    assert filled == Booking("Ada", 2, 9.0, False, Mood.COOL, ["view"], date(2030, 1, 2))
    assert form.read({"name": "Ada", "nights": 3.0}).nights == 3


@pytest.mark.parametrize("content", [{}, {"name": ""}, {"name": "ada"}, {"name": "Ada", "nights": 31}])
def test_what_does_not_fit_the_type_is_refused_by_the_name_of_the_field(content: dict[str, Any]) -> None:
    with pytest.raises(AnswerRefused, match=r"name|nights"):
        form_of(Booking).read(content)


def test_a_pydantic_model_is_a_form_too() -> None:
    form = form_of(Guest)
    assert form.document["required"] == ["name"]
    assert form.document["properties"]["room"] == {
        "type": "string",
        "enum": ["single"],
        "default": "single",
        "title": "Room",
    }
    assert form.document["properties"]["floor"]["type"] == "integer"
    assert form.read({"name": "Ada"}) == Guest(name="Ada")


def test_a_field_that_may_be_null_is_null_when_it_is_left_out() -> None:
    form = form_of(Loose)
    assert form.document["required"] == ["name"]
    assert form.read({"name": "a"}) == {"name": "a", "note": None}


@dataclass
class Described:
    floor: Annotated[int | None, msgspec.Meta(title="Floor", description="From the ground")] = 3
    moods: list[Mood] = field(default_factory=list)


def test_what_is_said_of_a_field_is_kept_whatever_its_type_is_made_of() -> None:
    form = form_of(Described)
    assert form.document["properties"] == {
        "floor": {"type": "integer", "title": "Floor", "description": "From the ground", "default": 3},
        "moods": {"type": "array", "items": {"type": "string", "enum": ["warm", "cool"]}, "default": []},
    }
    assert form.read({"moods": ["cool"]}) == Described(3, [Mood.COOL])


@pytest.mark.parametrize(("action", "accepted"), [("accept", True), ("decline", False), ("cancel", False)])
def test_only_a_form_that_was_sent_is_accepted(action: Action, accepted: bool) -> None:
    assert Elicited(action, None).accepted is accepted


def test_a_schema_is_taken_as_it_is_and_what_was_filled_in_is_checked() -> None:
    schema = forms.form(name=forms.text(min_length=1), tags=forms.choices({"a": "First"}, optional=True))
    form = form_of(schema)
    assert form.document == schema
    assert form.read({"name": "x", "tags": ["a"]}) == {"name": "x", "tags": ["a"]}
    with pytest.raises(AnswerRefused, match="name"):
        form.read({})
    with pytest.raises(AnswerRefused, match="tags"):
        form.read({"name": "x", "tags": ["b"]})


@dataclass
class Odd:
    """Fields that are text with a form of their own, which forms have no word for."""

    code: uuid.UUID
    price: decimal.Decimal
    at: datetime.time
    on: date


def test_a_format_that_forms_do_not_have_is_left_to_the_reading() -> None:
    """Elicitation, "Requested Schema": a client may refuse a form with any other format."""
    form = form_of(Odd)
    texts = {name: {"type": "string"} for name in ("code", "price", "at")}
    assert form.document["properties"] == {**texts, "on": {"type": "string", "format": "date"}}
    filled = {"code": str(uuid.UUID(int=5)), "price": "1.50", "at": "12:00:00Z", "on": "2026-07-28"}
    assert form.read(filled).price == decimal.Decimal("1.50")
    with pytest.raises(AnswerRefused, match="code"):
        form.read({**filled, "code": "x"})


@dataclass
class Nested:
    inner: Booking


@pytest.mark.parametrize(
    "schema",
    [
        Nested,
        int,
        list[str],
        {"type": "object", "properties": {"a": {"type": "object"}}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.com/x"}}},
        {"type": "string"},
        forms.form(a=forms.choice(["a", "b"], default="c")),
        forms.form(a=forms.choices(["a", "b"], default=["a", "c"])),
        forms.form(a=forms.integer(minimum=3, default=2)),
        forms.form(a=forms.text(max_length=2, default="abc")),
    ],
)
def test_what_no_client_could_show_is_an_error_of_the_author(schema: Any) -> None:
    with pytest.raises(ValueError, match=r"form"):
        form_of(schema)
