"""Media types: what a body is and what a client accepts (RFC 9110, sections 8.3 and 12.5.1).

`Accept` is read leniently, since clients and proxies write it in many ways: whatever is acceptable is served.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
OFFERED: Final = frozenset({JSON, EVENT_STREAM})


def is_json(content_type: str | None) -> bool:
    """Whether a Content-Type says JSON; parameters such as a charset mean nothing for JSON and are ignored."""
    return content_type is not None and content_type.partition(";")[0].strip().lower() == JSON


def acceptable(accept_lines: Iterable[str]) -> frozenset[str]:
    """Which of JSON and event streams the client takes: both when `Accept` is absent or names no media range."""
    return _acceptable(",".join(accept_lines))


@lru_cache(maxsize=128)
def _acceptable(accept: str) -> frozenset[str]:
    weights = dict(_ranges(accept))
    if not weights:
        return OFFERED
    return frozenset(media_type for media_type in OFFERED if _weight(media_type, weights) > 0)


def _weight(media_type: str, weights: dict[str, float]) -> float:
    """The weight of the most specific range that matches."""
    for media_range in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        if media_range in weights:
            return weights[media_range]
    return 0.0


def _ranges(accept: str) -> Iterable[tuple[str, float]]:
    """Each media range with its weight; what is no media range is passed over."""
    for item in accept.split(","):
        media_range, *parameters = (part.strip().lower() for part in item.split(";"))
        type_, slash, subtype = media_range.partition("/")
        if type_ and slash and subtype:
            yield media_range, _quality(parameters)


def _quality(parameters: list[str]) -> float:
    """The weight among the parameters; 1 when there is none that can be read."""
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 1.0
    return 1.0
