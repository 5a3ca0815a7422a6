"""The keys of `_meta` that the protocol reserves ("Overview", section "_meta")."""

from typing import Final

META: Final = "_meta"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105 - the name of a member, no secret
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
