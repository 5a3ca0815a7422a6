"""From an outcome to the bytes of its JSON-RPC response."""

import logging
import secrets
from collections.abc import Mapping
from typing import Any

from mcpfleet.protocol.jsonrpc import INTERNAL_ERROR, RequestId, encode_failure, encode_reply
from mcpfleet.protocol.revisions import Revision
from mcpfleet.protocol.wire import dress, renumber
from mcpfleet.server.outcome import Outcome, Refusal

log = logging.getLogger("mcpfleet.reply")


class Replies:
    """Encodes responses in the shape of each revision, in the name of one server."""

    def __init__(self, server_info: Mapping[str, Any]) -> None:
        self._server_info = server_info

    def encode(self, request_id: RequestId, outcome: Outcome, revision: Revision) -> bytes:
        """The response to a request; a result that JSON cannot carry becomes an internal error, and is logged."""
        try:
            return self._encoded(request_id, outcome, revision)
        except Exception:  # the boundary: whatever a tool put into its result, its caller gets a response
            correlation = secrets.token_hex(8)
            log.exception("a result cannot be encoded; correlation id %s", correlation)
            return encode_failure(request_id, INTERNAL_ERROR, "Internal error", {"correlationId": correlation})

    def _encoded(self, request_id: RequestId, outcome: Outcome, revision: Revision) -> bytes:
        if isinstance(outcome, Refusal):
            return encode_failure(request_id, renumber(outcome.code, revision), outcome.message, outcome.data)
        dressed = dress(
            outcome.result,
            revision,
            server_info=self._server_info,
            cache=outcome.cache,
            output_schema=outcome.output_schema,
        )
        return encode_reply(request_id, dressed)
