"""A child process that cannot outlive the process that started it."""

import os
import sys
from collections.abc import Sequence
from typing import Final

_LAUNCH: Final = """
import ctypes, os, signal, sys
parent, *command = sys.argv[1:]
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
if os.getppid() != int(parent):
    sys.exit("the parent died before its child began")
os.execv(command[0], command)
"""


def tethered(command: Sequence[str]) -> list[str]:
    """The command, changed so that Linux kills it when the thread that starts it ends; elsewhere, unchanged.

    The process id is the command's own, and its first word must be a path. Start it from the main thread: the kernel
    watches the starting thread, not the process.
    """
    if sys.platform != "linux":
        return list(command)
    # A new interpreter asks the kernel and then becomes the command: code between fork and exec (`preexec_fn`) may
    # deadlock once this process has threads.
    return [sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), *command]
