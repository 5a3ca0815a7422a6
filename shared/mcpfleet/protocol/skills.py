"""The words of the extension `io.modelcontextprotocol/skills`: its names and limits, and how its URIs are made."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

NAME: Final = "io.modelcontextprotocol/skills"
EXTENSION: Final[Mapping[str, dict[str, Any]]] = {NAME: {"directoryRead": True}}
"""What a server with skills declares among its extensions."""
SCHEME: Final = "skill://"
MANIFEST: Final = "SKILL.md"
"""The file that makes a directory a skill."""
DIRECTORY: Final = "inode/directory"
"""The MIME type of a directory."""

MAX_FILES: Final = 512
MAX_BYTES: Final = 16 * 1024 * 1024
"""What every host accepts of one skill ("Limits")."""
MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1024

Segments = tuple[str, ...]
"""A path: the names of directories, and last that of a file or directory."""

_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_UNQUOTED: Final = "-._~!$&'()*+,;="
"""What may stand in a host's name as well as in any segment of a path (RFC 3986, appendix A)."""
_FRONTMATTER: Final = re.compile(r"---\r?\n(.*?)(?<=\n)---[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def is_name(text: str) -> bool:
    """Whether a skill can be called so (Agent Skills, "name field")."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None


def uri(path: Sequence[str]) -> str:
    """The URI of a file or directory ("Resource Mapping")."""
    return SCHEME + "/".join(quote(segment, safe=_UNQUOTED) for segment in path)


def digest(data: bytes) -> str:
    """What a host verifies the bytes of a file by ("Integrity and Verification")."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def frontmatter(text: str) -> str | None:
    """The YAML between the two lines of dashes that a `SKILL.md` begins with; None without them."""
    found = _FRONTMATTER.match(text)
    return None if found is None else found[1]
