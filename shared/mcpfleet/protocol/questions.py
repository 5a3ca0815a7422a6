"""What a server may ask its client: which capability it takes, how each revision says it, and what counts as an answer.

Legacy revisions have these as requests of the server's own, the modern one as parts of an `input_required` result.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from mcpfleet.protocol import formrules, forms, jsontext, older
from mcpfleet.protocol.messages.elicitation import ElicitForm, ElicitResult, ElicitUrl
from mcpfleet.protocol.messages.roots import ListRoots, ListRootsResult
from mcpfleet.protocol.messages.sampling import (
    CreateMessage,
    CreateMessageResult,
    ToolResultContent,
    ToolUseContent,
)
from mcpfleet.protocol.revisions import Revision

Question = ElicitForm | ElicitUrl | CreateMessage | ListRoots

Kind = TypeVar("Kind", ElicitResult, CreateMessageResult, ListRootsResult)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputRequiredResult:
    """What a handler returns that speaks of rounds itself: questions by keys of its own, and what it wants to find
    again on the retry (basic/patterns/mrtr). `ValueError` if it has neither, or what no client could read or show."""

    input_requests: Mapping[str, Question] = field(default_factory=dict)
    request_state: str | None = None

    def __post_init__(self) -> None:
        if not self.input_requests and self.request_state is None:
            raise ValueError("an input required result has input requests, or a state, or both")
        for key, question in self.input_requests.items():
            if (words := fault(question)) is not None:
                raise ValueError(f"{key!r} cannot be asked: {words}")


def fault(question: Question) -> str | None:
    """Why no client could read a question, or show its form, if none could."""
    try:
        msgspec.convert(jsontext.plain(question), type(question))
    except (jsontext.NotJson, msgspec.ValidationError) as error:
        return str(error)
    return formrules.fault(question.requested_schema) if isinstance(question, ElicitForm) else None


class NoAnswer(ValueError):
    """What came back is no answer to the question."""


def missing(question: Question, capabilities: Mapping[str, Any], revision: Revision) -> dict[str, Any]:
    """The capabilities that the question takes and the client lacks, as it would declare them; empty: it may be asked.

    A client whose revision does not know a kind of question cannot have declared it.
    """
    match question:
        case ElicitForm():
            declared = capabilities.get("elicitation") if revision.elicitation else None
            return {} if _takes_forms(declared) else {"elicitation": {"form": {}} if revision.url_elicitation else {}}
        case ElicitUrl():
            declared = capabilities.get("elicitation") if revision.url_elicitation else None
            return {} if declared is not None and "url" in declared else {"elicitation": {"url": {}}}
        case CreateMessage():
            return _missing_sampling(question, capabilities.get("sampling"), revision)
    return {} if "roots" in capabilities else {"roots": {}}


def written(question: Question, revision: Revision) -> tuple[str, dict[str, Any]]:
    """Method and params as the revision has them; `forms.Unshowable` for a form that it cannot have."""
    params: dict[str, Any] = jsontext.plain(question)
    match question:
        case ElicitForm():
            params["requestedSchema"] = forms.dressed(question.requested_schema, revision)
            if not revision.url_elicitation:
                del params["mode"]
        case ElicitUrl() if not revision.elicitation_complete:
            params.pop("elicitationId", None)
        case CreateMessage() if not revision.sampling_tools:
            params["messages"] = [
                {"role": message["role"], "content": older.content(block, revision)}
                for message in params["messages"]
                for block in _blocks(message["content"])
            ]
    return question.METHOD, params


def read(kind: type[Kind], result: Mapping[str, Any]) -> Kind:
    """The client's result, if it is an answer of this kind; else `NoAnswer`, which says why."""
    try:
        return msgspec.convert(result, kind)
    except msgspec.ValidationError as error:
        raise NoAnswer(f"not a {kind.__name__}: {error}") from None


def _takes_forms(declared: Any) -> bool:
    """A client that names no mode takes forms, as all clients did when there was only one."""
    return declared is not None and ("form" in declared or "url" not in declared)


def _missing_sampling(question: CreateMessage, declared: Any, revision: Revision) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    if _has_tools(question):
        wanted["tools"] = {}
        if not revision.sampling_tools:
            return {"sampling": wanted}
    if revision.sampling_tools and question.include_context not in (None, "none"):
        wanted["context"] = {}
    if declared is not None and all(name in declared for name in wanted):
        return {}
    return {"sampling": wanted}


def _has_tools(question: CreateMessage) -> bool:
    if question.tools is not None or question.tool_choice is not None:
        return True
    blocks = [block for message in question.messages for block in message.blocks]
    return any(isinstance(block, ToolUseContent | ToolResultContent) for block in blocks)


def _blocks(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [content]
