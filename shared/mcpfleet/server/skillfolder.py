"""Skills on disk: what is in a folder is read once, into memory, and within bounds.

So what is served is what hosts verify it by, whatever becomes of the files, and no request reaches the disk.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.skills import MANIFEST, MAX_BYTES, MAX_FILES, Segments

MAX_ENTRIES: Final = 10_000
"""How many files and directories are looked at in one folder."""
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024
"""What all skills of one folder may have together."""
_LEFT_BY_TOOLS: Final = "__pycache__"


@dataclass(frozen=True, slots=True)
class _Directory:
    """A directory on the way down."""

    path: Path
    segments: Segments
    above: tuple[Path, ...]
    """Those that lead to it, as they really are."""
    skill: Segments | None
    """The outermost skill that it lies in."""


@dataclass(frozen=True, slots=True)
class _File:
    path: Path
    segments: Segments
    skill: Segments
    """The outermost skill that it belongs to."""


def read(folder: Path) -> dict[Segments, bytes]:
    """The files of every skill in a folder, by their path in it; if the folder itself is a skill, with its name before.

    What is hidden is left out. Raises `RegistrationError` for a folder without a skill, for a symbolic link that leads
    out of the folder or in a circle, for what cannot be read, and for more than a host would take.
    """
    found: dict[Segments, bytes] = {}
    files: Counter[Segments] = Counter()
    size: Counter[Segments] = Counter()
    try:
        for file in _files(folder.resolve(strict=True)):
            name = "/".join(file.skill)
            files[file.skill] += 1
            if files[file.skill] > MAX_FILES:
                raise RegistrationError(f"the skill {name} has more than {MAX_FILES} files")
            data = _bytes(file.path, MAX_BYTES - size[file.skill], f"the skill {name}")
            size[file.skill] += len(data)
            if size.total() > MAX_TOTAL_BYTES:
                raise RegistrationError(f"the skills in {folder} have more than {MAX_TOTAL_BYTES} bytes together")
            found[file.segments] = data
    except (OSError, RuntimeError) as error:  # the latter for links in a circle, before Python 3.13
        raise RegistrationError(f"the skills in {folder} cannot be read: {error}") from None
    if not found:
        raise RegistrationError(f"there is no skill in {folder}: no directory with a {MANIFEST}")
    return found


def _files(root: Path) -> Iterator[_File]:
    """Every file that is in a skill."""
    waiting = [_Directory(root, (root.name,) if _is_skill(root) else (), (), None)]
    left = MAX_ENTRIES
    while waiting:
        directory = waiting.pop()
        skill = directory.segments if directory.skill is None and _is_skill(directory.path) else directory.skill
        for entry in islice(directory.path.iterdir(), left + 1):
            left -= 1
            if left < 0:
                raise RegistrationError(f"{root} has more than {MAX_ENTRIES} files and directories")
            if entry.name.startswith(".") or entry.name == _LEFT_BY_TOOLS:
                continue
            place, segments = _really(entry, root), (*directory.segments, _checked(entry.name))
            if place.is_dir():
                above = (*directory.above, directory.path)
                if place in above:
                    raise RegistrationError(f"the link {entry} leads in a circle")
                waiting.append(_Directory(place, segments, above, skill))
            elif skill is not None:
                yield _File(place, segments, skill)


def _is_skill(directory: Path) -> bool:
    return (directory / MANIFEST).is_file()


def _really(entry: Path, root: Path) -> Path:
    """Where an entry is when all links are followed, if that is in the folder."""
    place = entry.resolve(strict=True)
    if not place.is_relative_to(root):
        raise RegistrationError(f"the link {entry} leads out of the folder")
    return place


def _checked(name: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise RegistrationError(f"the file name {name!r} is no UTF-8") from None
    return name


def _bytes(path: Path, most: int, skill: str) -> bytes:
    """What is in a file; anything else, such as a pipe, would perhaps never end."""
    if not path.is_file():
        raise RegistrationError(f"{path} is no file")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise RegistrationError(f"{skill} has more than {MAX_BYTES} bytes")
    return data
