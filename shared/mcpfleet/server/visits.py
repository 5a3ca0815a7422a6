"""Pages that a user must visit before a request can be served ("Elicitation", section "URL Elicitation Required")."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec

from mcpfleet.errors import ProtocolError
from mcpfleet.protocol.jsonrpc import INVALID_REQUEST, URL_ELICITATION_REQUIRED
from mcpfleet.protocol.messages.elicitation import ElicitUrl
from mcpfleet.protocol.questions import InputRequiredResult
from mcpfleet.server.caller import Caller
from mcpfleet.server.outcome import Outcome, Refusal, Success


class _Required(msgspec.Struct, frozen=True):
    elicitations: Annotated[list[ElicitUrl], msgspec.Meta(min_length=1)]


class UrlElicitationRequired(ProtocolError):
    """Raised by a handler that cannot go on before the user has visited these pages; the client then tries again.

    The revision that has an error for it gets that error. A modern client is asked to have them visited, and told off
    if the user declined; a client that cannot be sent to a page is told what it lacks.
    """

    def __init__(self, *pages: ElicitUrl, message: str = "The user must visit a page first") -> None:
        """`ValueError` without a page."""
        if not pages:
            raise ValueError("at least one page is required")
        super().__init__(URL_ELICITATION_REQUIRED, message, {"elicitations": msgspec.to_builtins(pages)})


def shown(outcome: Outcome, caller: Caller, given: Mapping[str, Any], failed: Callable[[str], Refusal]) -> Outcome:
    """The outcome as the client's revision has it, if it is that pages are to be visited; any other as it is.

    `given` is what a modern client answers in this round; `failed` makes the error for what makes no sense, and says
    why.
    """
    if not isinstance(outcome, Refusal) or outcome.code != URL_ELICITATION_REQUIRED:
        return outcome
    try:
        pages = msgspec.convert(outcome.data, _Required).elicitations
    except msgspec.ValidationError as fault:  # somebody wrote it by hand, and no client could make sense of it
        return failed(f"an error {outcome.code} names no pages: {fault}")
    if (why := caller.unaskable(pages[0])) is not None:
        return Refusal.because(why)
    if caller.revision.server_requests:
        return outcome
    keyed = {_key(page): page for page in pages}
    if any(given.get(key, {}).get("action", "accept") != "accept" for key in keyed):
        return Refusal(INVALID_REQUEST, "The user did not visit the page", {"reason": "declined"})
    return Success({}, input_required=InputRequiredResult(input_requests=keyed))


def _key(page: ElicitUrl) -> str:
    """The same for the same page in every round."""
    return "page-" + hashlib.blake2b(page.url.encode(), digest_size=9).hexdigest()
