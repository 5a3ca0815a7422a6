"""Folders of skills, written for a test."""

from collections.abc import Mapping
from pathlib import Path


def manifest(name: str, description: str = "What it does.", more: str = "") -> str:
    """The text of a `SKILL.md`."""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n# {name}\n"


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """The folder, with these files by their paths in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
