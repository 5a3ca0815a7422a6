"""One noun a module: a place for everything that has no name of its own is a place where nothing is found."""

from collections.abc import Iterable

from tests.house.source import SOURCE_ROOTS, Source, files, planted, product

NO_NOUNS = {"base_utils", "common", "helper", "helpers", "manager", "misc", "util", "utils"}


def nameless(sources: Iterable[Source]) -> list[str]:
    """Modules and packages whose name, or the last word of it, names nothing."""
    return [
        str(source.path)
        for source in sources
        if any(part.removesuffix(".py").rpartition("_")[2] in NO_NOUNS for part in source.path.parts)
    ]


def test_every_module_is_named_after_what_is_in_it() -> None:
    assert nameless(source for source in files() if source.path.suffix in {".py", ".lua"}) == []


def test_a_module_without_a_noun_is_found() -> None:
    names = ["shared/mcpfleet/utils.py", "shared/mcpfleet/session_manager.py", "shared/mcpfleet/common/x.py"]
    assert nameless([*(planted("", name) for name in names), planted("", "shared/mcpfleet/commons.py")]) == names


def test_every_directory_of_modules_is_a_package() -> None:
    """Without its `__init__.py` a directory is a namespace package, which import contracts and wheels overlook."""
    places = {source.path.parent for source in product()}
    packages = {source.path.parent for source in product() if source.is_package}
    assert {place.parts[0] for place in places} == set(SOURCE_ROOTS)
    assert sorted(map(str, places - packages)) == []
