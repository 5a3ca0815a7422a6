"""Media types: what a body is and what a client accepts (RFC 9110, sections 8.3 and 12.5.1).

`Accept` is read leniently, since clients and proxies write it in many ways: whatever is acceptable is served.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
_MEDIA_RANGE: Final = re.compile(r"[^\s/]+/[^\s/]+")
_ZERO_WEIGHT: Final = re.compile(r"q\s*=\s*0(\.0*)?")

OFFERED: Final = frozenset({JSON, EVENT_STREAM})


def is_json(content_type: str | None) -> bool:
    """Whether a Content-Type says JSON; parameters such as a charset mean nothing for JSON and are ignored."""
    if content_type is None or content_type == JSON:
        return content_type is not None
    return content_type.partition(";")[0].strip().lower() == JSON


def acceptable(accept_lines: Iterable[str]) -> frozenset[str]:
    """Which of JSON and event streams the client takes: both when `Accept` is absent or names no media range."""
    return _acceptable(",".join(accept_lines))


@lru_cache(maxsize=128)
def _acceptable(accept: str) -> frozenset[str]:
    taken = dict(_ranges(accept))
    return frozenset(offer for offer in OFFERED if _is_taken(offer, taken)) if taken else OFFERED


def _is_taken(media_type: str, taken: dict[str, bool]) -> bool:
    """What the most specific range that matches says; no when none does."""
    for media_range in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        if media_range in taken:
            return taken[media_range]
    return False


def _ranges(accept: str) -> Iterable[tuple[str, bool]]:
    """Each media range and whether its weight is above zero; what is no media range is passed over."""
    for item in accept.lower().split(","):
        media_range, *parameters = (part.strip() for part in item.split(";"))
        if _MEDIA_RANGE.fullmatch(media_range):
            yield media_range, not any(map(_ZERO_WEIGHT.fullmatch, parameters))
