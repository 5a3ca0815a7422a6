"""Fails each test during which a server, in any process, said what its receiver's revision does not have."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.witness.judge import Judge
from tests.witness.startup import sitecustomize

STARTUP: Final = str(Path(sitecustomize.__file__).parent)


class Witness:
    """What all processes have noted and nobody has judged yet."""

    def __init__(self, journal: Path) -> None:
        self._notes = journal.open("rb")
        self._judge = Judge()
        self._rest = b""

    def faults(self) -> list[str]:
        """What is wrong with what was said since this was last asked."""
        *lines, self._rest = (self._rest + self._notes.read()).split(b"\n")
        return [fault for line in lines for fault in self._judge.faults(json.loads(line))]

    def attest(self) -> None:
        """Fail if anything is wrong with what was said since."""
        if faults := self.faults():
            raise AssertionError("\n\n".join(["a server said what it may not say", *faults[:10]]))


WITNESS: Final = pytest.StashKey[Witness]()


def pytest_configure(config: pytest.Config) -> None:
    """Let this process take notes, and whatever it starts."""
    descriptor, journal = tempfile.mkstemp(prefix="mcpfleet-witness-")
    os.close(descriptor)
    os.environ[sitecustomize.JOURNAL] = journal
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [STARTUP, os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, STARTUP)
    sitecustomize.install()
    config.stash[WITNESS] = Witness(Path(journal))
    config.add_cleanup(Path(journal).unlink)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Judge what was said in a test."""
    try:
        return (yield)
    finally:
        item.config.stash[WITNESS].attest()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Judge what was said when everything ended."""
    try:
        return (yield)
    finally:
        item.config.stash[WITNESS].attest()


@pytest.fixture
def witness(pytestconfig: pytest.Config) -> Witness:
    """For tests that let a server say what it may not."""
    return pytestconfig.stash[WITNESS]
