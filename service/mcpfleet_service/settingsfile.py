"""Settings from files: all of them from one in TOML, and any secret from one that holds nothing else."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mcpfleet.errors import SettingsError
from mcpfleet_service.variables import PREFIX

FILE: Final = f"{PREFIX}SETTINGS_FILE"
IN_FILE: Final = "_FILE"
"""How the name of a variable ends that says where the value of another one is, as mounted Secrets are."""
MAX_BYTES: Final = 1024 * 1024


def with_files(environ: Mapping[str, str], secrets: frozenset[str]) -> dict[str, str]:
    """The environment, and below it what the files that it names say; the names of `secrets` have no prefix.

    `SettingsError` for a file that cannot be read, holds what is no setting's value, or says what a variable says too.
    """
    given = {name: value for name, value in environ.items() if value.strip()}
    path = given.pop(FILE, None)
    told = {} if path is None else dict(_settings_in(Path(path)))
    for secret in sorted(secrets):
        name = PREFIX + secret
        file = given.pop(name + IN_FILE, None)
        if file is not None:
            if name in given:
                raise SettingsError(f"{name} and {name}{IN_FILE} are both set: leave one out")
            given[name] = _text(Path(file), name + IN_FILE).strip()
    return {**told, **given}


def _settings_in(path: Path) -> Iterator[tuple[str, str]]:
    """Each setting of a file, by its variable."""
    try:
        found = tomllib.loads(_text(path, FILE))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{FILE}: {path} is no TOML: {error}") from None
    for key, value in found.items():
        if key != key.lower():
            raise SettingsError(
                f"{FILE}: {path} names {key!r}: a setting is its variable without {PREFIX}, in lower case"
            )
        yield PREFIX + key.upper(), _written(value, f"{FILE}: {path}: {key}")


def _written(value: Any, where: str) -> str:
    """A value as its variable would have it."""
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(each, str) for each in value):
            return ",".join(value)
        case _:
            raise SettingsError(f"{where} is neither a text, a number, true or false, nor a list of texts")


def _text(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise SettingsError(f"{where}: {path} is larger than {MAX_BYTES} bytes")
        return data.decode()
    except OSError as error:
        raise SettingsError(f"{where}: {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{where}: {path} is not UTF-8") from None
