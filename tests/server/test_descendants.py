"""What a process has started ends with it; each test lets a process of its own end its descendants."""

import subprocess

from tests.processes import ROOT, environment, python

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)"
)
OBEDIENT = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
ENDING = """
import subprocess, sys
from mcpfleet.server import descendants

def start(alone, *command):
    child = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, start_new_session=alone)
    child.stdout.readline()
    return child

inner, outer = start(False, sys.argv[1]), start(False, sys.argv[2], sys.argv[1])
alone = start(True, sys.argv[1])
print(len([*descendants.living()]))
descendants.end(grace=0.2)
print(len([*descendants.living()]), inner.wait(), outer.wait(), alone.poll())
alone.kill()
"""


def test_every_descendant_ends_even_one_that_will_not_but_for_what_is_in_a_session_of_its_own() -> None:
    command = python("-c", ENDING, STUBBORN, OBEDIENT)
    ended = subprocess.run(
        command, cwd=ROOT, env=environment({}), capture_output=True, text=True, check=True, timeout=20
    )
    assert ended.stdout.split("\n")[:2] == ["3", "0 -9 -15 None"]
