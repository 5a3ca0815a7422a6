"""A child process that cannot outlive the process that started it."""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from multiprocessing import parent_process
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_LAUNCH: Final = f"""
import ctypes, os, signal, sys
parent, *command = sys.argv[1:]
ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, signal.SIGKILL)
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


def end_with_parent() -> None:
    """In a process of `multiprocessing`: have Linux send it SIGTERM when its parent dies; elsewhere, and in a process
    without such a parent, do nothing.
    """
    parent = parent_process()
    if sys.platform != "linux" or parent is None:
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent.pid:
        raise SystemExit("the parent died before its child began")
