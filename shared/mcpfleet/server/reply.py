"""From an outcome to the bytes of its JSON-RPC response."""

from collections.abc import Mapping
from typing import Any

from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, Request, RequestId, encode_failure, encode_reply
from mcpfleet.protocol.revisions import Revision
from mcpfleet.protocol.wire import dress, renumber
from mcpfleet.server.caller import Caller
from mcpfleet.server.failures import Failures
from mcpfleet.server.incoming import Incoming
from mcpfleet.server.outcome import Outcome, Refusal
from mcpfleet.server.vitals import Vitals


class Replies:
    """Encodes responses in the shape of each revision, in the name of one server."""

    def __init__(
        self, server_info: Mapping[str, Any], failures: Failures | None = None, vitals: Vitals | None = None
    ) -> None:
        self._server_info = server_info
        self._vitals = vitals or Vitals()
        self._failures = failures or Failures()

    def encode(
        self, request_id: RequestId, outcome: Outcome, revision: Revision, asked: tuple[Request, Caller] | None = None
    ) -> bytes:
        """The response to a request; a result that JSON cannot carry becomes an internal error, and is noted.

        `asked` is the request and who sent it, for the note.
        """
        try:
            return self._encoded(request_id, outcome, revision)
        except Exception as error:  # noqa: BLE001  # the boundary: whatever is in a result, its caller gets a response
            correlation = self._failures.note(error, None if asked is None else Incoming.of(*asked))
            return encode_failure(request_id, INTERNAL_ERROR, "Internal error", {"correlationId": correlation})

    def _encoded(self, request_id: RequestId, outcome: Outcome, revision: Revision) -> bytes:
        if isinstance(outcome, Refusal):
            self._vitals.refused(outcome.code, outcome.data)
            return encode_failure(request_id, renumber(outcome.code, revision), outcome.message, outcome.data)
        dressed = dress(
            outcome.result,
            revision,
            server_info=self._server_info,
            cache=outcome.cache,
            output_schema=outcome.output_schema,
        )
        return encode_reply(request_id, dressed)
