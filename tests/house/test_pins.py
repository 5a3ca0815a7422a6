"""The pins that continuous integration installs: exact, complete, and within what the project declares."""

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.distribution import closure, project, requirements
from tests.house.source import ROOT

LINES = (ROOT / "constraints.txt").read_text().splitlines()
PINS = {canonicalize_name(each.name): each for each in map(Requirement, LINES)}


def test_every_line_is_one_exact_pin() -> None:
    """No options, no addresses: where packages come from is for each machine to say."""
    for line in LINES:
        [bound] = Requirement(line).specifier
        assert line == f"{Requirement(line).name}=={bound.version}"


def test_no_package_is_pinned_twice_and_the_pins_are_in_order() -> None:
    assert len(PINS) == len(LINES)
    names = [line.partition("==")[0].lower() for line in LINES]
    assert names == sorted(names)


def test_every_pin_is_one_that_the_project_allows() -> None:
    every = [each for extra in ("", *project()["optional-dependencies"]) for each in requirements(extra)]
    for requirement in every:
        if requirement.name != "mcpfleet":
            [bound] = PINS[canonicalize_name(requirement.name)].specifier
            assert bound.version in requirement.specifier, f"{requirement} is pinned to {bound.version}"


def test_everything_that_development_installs_is_pinned() -> None:
    assert sorted(closure("dev").keys() - PINS.keys()) == []
