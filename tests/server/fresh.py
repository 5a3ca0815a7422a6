"""A fresh interpreter: what does not depend on this one must come out the same there."""

import os
import subprocess
import sys


def environment(*first: str, **variables: str) -> dict[str, str]:
    """This process's environment and import path, after the directories that go first."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([*first, *filter(None, sys.path)])} | variables


def run(script: str, *first: str, **variables: str) -> str:
    """What the script prints; it must end well, within a minute."""
    command = [sys.executable, "-W", "error", "-c", script]
    env = environment(*first, **variables)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
