"""Forms: the builders give what the specification shows, and what clients could not show is found."""

import pytest

from mcpfleet.protocol import formrules, forms
from mcpfleet.protocol.revisions import Revision, find

EVERY_KIND = forms.form(
    name=forms.text(title="Name", description="Yours", min_length=1, max_length=50, format="email", default="a@b.c"),
    age=forms.integer(minimum=0, maximum=150),
    score=forms.number(minimum=0.5, maximum=1.5, default=1.0),
    agreed=forms.yes_no(default=False),
    single=forms.choice(["a", "b"], default="a"),
    titled=forms.choice({"a": "First", "b": "Second"}, optional=True),
    named=forms.named_choice({"a": "First", "b": "Second"}),
    several=forms.choices(["a", "b"], min_items=1, max_items=2, default=["a"]),
    several_titled=forms.choices({"a": "First"}, optional=True),
)


def revision(date: str) -> Revision:
    found = find(date)
    assert found is not None
    return found


def test_every_kind_of_field_is_written_as_the_specification_has_it() -> None:
    """2026-07-28, Elicitation, "Requested Schema" and "Enum Schemas"."""
    assert EVERY_KIND == {
        "type": "object",
        "properties": {
            "name": {
                "type": "string",
                "title": "Name",
                "description": "Yours",
                "minLength": 1,
                "maxLength": 50,
                "format": "email",
                "default": "a@b.c",
            },
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "score": {"type": "number", "minimum": 0.5, "maximum": 1.5, "default": 1.0},
            "agreed": {"type": "boolean", "default": False},
            "single": {"type": "string", "enum": ["a", "b"], "default": "a"},
            "titled": {
                "type": "string",
                "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}],
            },
            "named": {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]},
            "several": {
                "type": "array",
                "items": {"type": "string", "enum": ["a", "b"]},
                "minItems": 1,
                "maxItems": 2,
                "default": ["a"],
            },
            "several_titled": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "First"}]}},
        },
        "required": ["age", "named"],
    }
    assert formrules.fault(EVERY_KIND) is None


def test_a_form_in_which_nothing_is_required_says_nothing_of_it() -> None:
    assert forms.form(a=forms.text(optional=True)) == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_a_revision_with_rich_forms_gets_the_form_unchanged() -> None:
    assert forms.dressed(EVERY_KIND, revision("2025-11-25")) == EVERY_KIND


def test_the_first_revision_with_forms_gets_titles_as_names_and_defaults_of_yes_and_no_only() -> None:
    """2025-06-18, Elicitation, "Requested Schema"."""
    dressed = forms.dressed(EVERY_KIND, revision("2025-06-18"))
    assert dressed["required"] == ["age", "named"]
    properties = dressed["properties"]
    assert properties.keys() == EVERY_KIND["properties"].keys() - {"several", "several_titled"}
    assert properties["titled"] == {"type": "string", "enum": ["a", "b"], "enumNames": ["First", "Second"]}
    assert properties["agreed"] == {"type": "boolean", "default": False}
    assert [name for name, one in properties.items() if "default" in one] == ["agreed"]


def test_a_choice_of_several_that_is_required_cannot_be_shown_by_an_older_client() -> None:
    form = forms.form(tags=forms.choices(["a"]))
    with pytest.raises(forms.Unshowable, match="tags"):
        forms.dressed(form, revision("2025-06-18"))


def test_an_older_form_in_which_nothing_is_required_says_nothing_of_it() -> None:
    form = forms.form(a=forms.text(optional=True))
    assert forms.dressed(form, revision("2025-06-18")) == form
