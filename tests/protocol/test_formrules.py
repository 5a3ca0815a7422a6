"""What is no form is found before any client is asked to show it ("Elicitation", section "Requested Schema")."""

from typing import Any

import pytest

from mcpfleet.protocol import formrules

TITLED = {"const": "a", "title": "First"}


def of(**field: Any) -> dict[str, Any]:
    """A form of one field."""
    return {"type": "object", "properties": {"a": field}}


@pytest.mark.parametrize("form", [of(type="string", format=each) for each in ("email", "uri", "date", "date-time")])
def test_a_text_may_have_one_of_four_formats(form: dict[str, Any]) -> None:
    assert formrules.fault(form) is None


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "object with properties"),
        ({"type": "object"}, "object with properties"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "a: required, but there is no such field"),
        ({"type": "object", "properties": {"a": True}}, "a: a field"),
        (of(type="object"), "a: a field"),
        (of(type=["string", "null"]), "a: a field"),
        (of(type="string", pattern="x"), "no pattern"),
        (of(type="string", format="uuid"), "no format 'uuid'"),
        (of(type="string", enum=[]), "a choice has values"),
        (of(type="string", enum=["a", 1]), "a choice has values"),
        (of(type="string", enum="ab"), "a choice has values"),
        (of(type="string", enum=["a"], enumNames=["First", "Second"]), "as many names as values"),
        (of(type="string", enum=["a"], enumNames=[1]), "as many names as values"),
        (of(type="string", enumNames=["First"]), "as many names as values"),
        (of(type="string", oneOf=[]), "a choice has values"),
        (of(type="string", oneOf=[TITLED, {"const": "b"}]), "a choice has values"),
        (of(type="string", oneOf=["a"]), "a choice has values"),
        (of(type="string", oneOf=[TITLED], enum=["a"]), "plain values, or of titled ones"),
        (of(type="array"), "several values"),
        (of(type="array", items={"type": "string"}), "several values"),
        (of(type="array", items={"type": "integer", "enum": ["a"]}), "several values"),
        (of(type="array", items={"type": "string", "enum": [1]}), "several values"),
        (of(type="array", items={"anyOf": [{"const": 1, "title": "a"}]}), "several values"),
    ],
)
def test_what_no_client_could_show_is_found(schema: dict[str, Any], words: str) -> None:
    found = formrules.fault(schema)
    assert found is not None
    assert words in found
