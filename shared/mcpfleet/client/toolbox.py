"""What a client has read of a server's tools: which arguments headers mirror, and what results must be like."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from jsonschema_rs import Draft202012Validator, ReferencingError, ValidationError
from msgspec import UNSET

from mcpfleet.errors import RegistrationError, ReplyRefused
from mcpfleet.protocol.headers import Mirrored, param_headers, parameter_map
from mcpfleet.protocol.messages.tools import CallToolResult, Tool

log = logging.getLogger("mcpfleet.client")


class Toolbox:
    """Remembers each tool as it was last listed."""

    def __init__(self) -> None:
        self._mirrored: dict[str, Sequence[Mirrored]] = {}
        self._outputs: dict[str, Draft202012Validator] = {}

    def read(self, tools: Sequence[Tool], *, with_headers: bool) -> list[Tool]:
        """Note the tools of a page, and return those that can be used.

        `with_headers`: one whose annotations no header can follow is left out, and said to be ("Custom Headers from
        Tool Parameters").
        """
        return [tool for tool in tools if self._note(tool, with_headers)]

    def headers(self, name: str, arguments: Mapping[str, Any]) -> dict[str, str]:
        """The headers that mirror arguments; none for a tool that was not listed. `ValueError` for what none can."""
        return param_headers(self._mirrored.get(name, ()), arguments)

    def check(self, name: str, result: CallToolResult) -> None:
        """Raise `ReplyRefused` for a result that breaks the output schema of its tool, as far as that is known."""
        validator = self._outputs.get(name)
        if validator is None or result.is_error:
            return
        if result.structured_content is UNSET:
            raise ReplyRefused(f"the tool {name!r} has an output schema, and its result no structured content")
        for error in validator.iter_errors(result.structured_content):
            raise ReplyRefused(f"the result of the tool {name!r} breaks its output schema: {error.message[:300]}")

    def _note(self, tool: Tool, with_headers: bool) -> bool:
        if with_headers:
            try:
                self._mirrored[tool.name] = parameter_map(tool.input_schema)
            except RegistrationError as error:
                log.warning("the tool %r is left out: %s", tool.name[:128], error)
                return False
        self._outputs.pop(tool.name, None)
        if tool.output_schema is not None:
            try:
                self._outputs[tool.name] = Draft202012Validator(tool.output_schema, offline=True)
            except (ValidationError, ReferencingError, ValueError) as error:
                log.warning(
                    "results of the tool %r are not checked: its output schema cannot be used: %s", tool.name, error
                )
        return True
