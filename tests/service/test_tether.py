"""A tethered child is the command itself, and ends with its parent."""

import os
import subprocess
import sys

import pytest

from mcpfleet_service.tether import tethered
from tests.processes import assert_ends, python

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal")


def test_the_child_runs_as_the_command_with_its_own_process_id() -> None:
    command = tethered(python("-c", "import os, sys; print(os.getpid(), sys.argv[1:])", "one word", ""))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.read() == f"{child.pid} ['one word', '']\n"


@linux
def test_a_child_that_begins_after_its_parent_died_does_not_run() -> None:
    command = tethered(python("-c", "print('it ran')"))
    command[5] = "1"  # the parent that it expects
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    assert ended.returncode != 0
    assert ended.stdout == ""


@linux
def test_the_child_is_killed_when_its_parent_is() -> None:
    script = (
        "import os, signal, subprocess, sys\n"
        "from mcpfleet_service.tether import tethered\n"
        "command = [sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)']\n"
        "child = subprocess.Popen(tethered(command), stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        python("-c", script), env=environment, capture_output=True, text=True, check=False, timeout=20
    )
    assert_ends(int(ended.stdout))
