"""A resource or a template of resources, compiled once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Unpack

import msgspec

from mcpfleet.errors import ArgumentsRefused, RegistrationError, ResourceNotFound
from mcpfleet.protocol import apps, uris
from mcpfleet.protocol.messages import resources as messages
from mcpfleet.protocol.messages.resources import ReadResourceResult
from mcpfleet.protocol.uris import UriTemplate
from mcpfleet.protocol.wire import CacheHint
from mcpfleet.server import signature
from mcpfleet.server.callee import Callee
from mcpfleet.server.contents import contents
from mcpfleet.server.definitions import checked_definition
from mcpfleet.server.options import ResourceOptions, checked_cache, checked_seconds, opened
from mcpfleet.server.signature import Signature
from mcpfleet.server.texts import Texts
from mcpfleet.server.threads import Threads

URI: Final = "uri"
"""The parameter that takes the URI that was asked for, unless a variable is called so."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How what is at a URI is read."""

    callee: Callee
    variables: Texts
    takes_uri: bool
    mime_type: str | None
    timeout: float | None
    """Seconds that one read may take; None: no limit of its own."""
    cache: CacheHint | None
    """How long the result stays fresh; None: as the server says."""

    async def read(self, uri: str, values: Mapping[str, str], context: object, threads: Threads) -> ReadResourceResult:
        """Call the function.

        Raises `ResourceNotFound` if it returns None or a variable does not fit it, what `Callee.call` raises, and
        `OutputRefused` for what it returns.
        """
        try:
            keywords = self.variables.read(values)
        except ArgumentsRefused as refused:
            raise ResourceNotFound(uri, f"Resource not found: {refused}") from None
        if self.takes_uri:
            keywords[URI] = uri
        return await contents(await self.callee.call(keywords, context, threads), uri, self.mime_type, threads)


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A function that tells what is at one URI, and what clients are told of it."""

    definition: messages.Resource
    reading: Reading

    def renamed(self, name: str) -> "ServedResource":
        """The same resource under another name; its URI stays."""
        return replace(self, definition=msgspec.structs.replace(self.definition, name=name))


@dataclass(frozen=True, slots=True)
class ServedTemplate:
    """A function that tells what is at all URIs of one template, and what clients are told of it."""

    definition: messages.ResourceTemplate
    reading: Reading
    template: UriTemplate

    def renamed(self, name: str) -> "ServedTemplate":
        """The same template under another name; its URIs stay."""
        return replace(self, definition=msgspec.structs.replace(self.definition, name=name))


def compile_resource(
    resource: Any, *, context_type: type, **given: Unpack[ResourceOptions]
) -> ServedResource | ServedTemplate:
    """Make a resource, or a template if its URI has braces, of a function, a class or an instance with `__call__`.

    The function takes the template's variables, `uri` if it wants the whole, and contexts by parameters annotated
    `context_type`. Raises `RegistrationError` for anything that could not be served.
    """
    function, options = opened(resource, given, ResourceOptions)
    uri = options.get("uri")
    if not isinstance(uri, str):
        raise RegistrationError(f"{options['name']}: a resource needs a URI, or a template of URIs")
    if uri.startswith(apps.SCHEME):
        options.setdefault("mime_type", apps.MIME_TYPE)
    where = f"resource {uri!r}"
    declared = signature.read(function, context_type, where)
    template = uris.parse(uri) if uris.is_template(uri) else None
    _check(uri, template, options, where)
    reading = Reading(
        callee=Callee.of(function, declared, where),
        variables=Texts(_variables(declared, template, where), where),
        takes_uri=_takes_uri(declared, template),
        mime_type=options.get("mime_type"),
        timeout=checked_seconds(options.get("timeout"), where),
        cache=checked_cache(options.get("cache"), where),
    )
    if template is None:
        resource = messages.Resource(uri=uri, size=options.get("size"), **_described(options, declared))
        return ServedResource(checked_definition(resource, where), reading)
    listed = messages.ResourceTemplate(uri_template=uri, **_described(options, declared))
    return ServedTemplate(checked_definition(listed, where), reading, template)


def _described(options: ResourceOptions, declared: Signature) -> dict[str, Any]:
    icons = options.get("icons")
    return {
        "name": options.get("name"),
        "title": options.get("title"),
        "description": options.get("description", declared.description),
        "mime_type": options.get("mime_type"),
        "annotations": options.get("annotations"),
        "icons": None if icons is None else tuple(icons),
        "meta": options.get("meta"),
    }


def _check(uri: str, template: UriTemplate | None, options: ResourceOptions, where: str) -> None:
    if not isinstance(options.get("name"), str) or not options["name"]:
        raise RegistrationError(f"{where} needs a name")
    if template is None and not uris.is_uri(uri):
        raise RegistrationError(f"{where}: {uri!r} is no absolute URI, such as config://app")
    if template is not None and not template.simple:
        raise RegistrationError(
            f"{where}: only expressions like {{name}} are matched; list a template with others from a `list_resources` "
            "function, and read its URIs in a `read_resource` function"
        )
    if template is not None and options.get("size") is not None:
        raise RegistrationError(f"{where}: a template has no size")


def _takes_uri(declared: Signature, template: UriTemplate | None) -> bool:
    is_variable = template is not None and URI in template.variables
    return not is_variable and any(one.name == URI for one in declared.parameters)


def _variables(declared: Signature, template: UriTemplate | None, where: str) -> Signature:
    """The part of the signature that the template's variables fill, checked against them."""
    variables = () if template is None else template.variables
    takes_uri = _takes_uri(declared, template)
    taken = tuple(one for one in declared.parameters if not (takes_uri and one.name == URI))
    names = {one.name for one in taken}
    for name in variables:
        if name not in names and not declared.open:
            raise RegistrationError(f"{where}: no parameter takes the variable {name!r}")
    for one in taken:
        if one.name not in variables and one.required:
            raise RegistrationError(f"{where}: parameter {one.name!r} is no variable of the URI, and has no default")
    return replace(declared, parameters=taken)
