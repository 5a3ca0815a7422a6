"""A server that writes to standard output in every way there is, from its import on."""

import os
import subprocess
import sys
import time

from mcpfleet import Server

print("stray: at import")
server = Server("noisy", version="1")


@server.tool
def shout(words: str) -> str:
    """Say it on every channel, and return it."""
    print(f"stray: {words}")
    sys.stdout.write(f"stray: {words}\n")
    os.write(1, b"stray: from C\n")
    subprocess.run([sys.executable, "-c", "print('stray: from a child')"], check=True)
    return words


@server.tool
def read() -> str:
    """Read standard input, which is not this tool's to read."""
    return sys.stdin.read()


@server.tool
def leave_behind(alone: bool) -> int:
    """Start a process that sleeps, beside one that it starts itself; `alone`, in a session of its own."""
    sleeping = [sys.executable, "-c", "import subprocess, sys; subprocess.run(['sleep', '60'])"]
    return subprocess.Popen(sleeping, start_new_session=alone).pid


@server.tool
async def freeze(seconds: float) -> str:
    """Hold the event loop up."""
    time.sleep(seconds)  # noqa: ASYNC251  # what a careless author writes
    return "thawed"
