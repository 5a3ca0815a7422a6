"""Real processes under test: started within a deadline, broken on purpose, never left behind."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from mcpfleet_service.tether import tethered

START_SECONDS: Final = 20.0
STOP_SECONDS: Final = 20.0
KEPT_LINES: Final = 1000
ROOT: Final = Path(__file__).parents[1]


class Serving:
    """A command that serves HTTP and says so on standard output, in a session of its own.

    Start it from the main thread: it dies with the thread that started it. As a context manager it ends with the block.
    """

    def __init__(self, command: Sequence[str], environ: Mapping[str, str], log: Path, cwd: Path = ROOT) -> None:
        self.log = log
        self.url = ""
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                tethered(command),
                env=environment(environ),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self._lines: list[str] = []
        self._more = threading.Condition()
        self._ended = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def await_greeting(self, within: float = START_SECONDS) -> Self:
        """Return once it serves; fail with its log if it does not in time, or ends."""
        self.url = self.await_line(r"mcpfleet serves (http://\S+)", within)[1]
        return self

    def await_line(self, pattern: str, within: float = START_SECONDS) -> re.Match[str]:
        """Return the first match in a line of its standard output; fail with its log if none comes in time."""

        def found() -> re.Match[str] | None:
            return next(filter(None, (re.search(pattern, line) for line in self._lines)), None)

        with self._more:
            self._more.wait_for(lambda: found() or self._ended, within)
            match = found()
        assert match, f"it did not say {pattern!r} (exit code {self.exit_code}):\n{self.log_tail()}"
        return match

    def await_log(self, words: str, within: float = START_SECONDS) -> Self:
        """Return once it has logged these words; fail with its log if it does not in time, or ends."""
        deadline = time.monotonic() + within
        while words not in self.log.read_text(errors="replace"):
            waiting = self.exit_code is None and time.monotonic() < deadline
            assert waiting, f"it did not log {words!r} (exit code {self.exit_code}):\n{self.log_tail()}"
            time.sleep(0.02)
        return self

    def terminate(self) -> None:
        """Ask it to end (SIGTERM); does not wait."""
        self._process.send_signal(signal.SIGTERM)

    def interrupt(self) -> None:
        """Press Ctrl-C: SIGINT to it and all that it started; does not wait."""
        os.killpg(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """End it without a word (SIGKILL), frozen or not."""
        self._process.kill()
        self.await_exit()

    def freeze(self) -> None:
        """Stop it where it is (SIGSTOP): connections stay open and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        self._process.send_signal(signal.SIGCONT)

    def await_exit(self, within: float = STOP_SECONDS) -> int:
        """Return its exit code; one that does not end in time is killed, and the test fails with its log."""
        try:
            code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"process {self.pid} did not end in {within:g} s:\n{self.log_tail()}") from None
        finally:
            self._listener.join(STOP_SECONDS)
        return code

    def stop(self) -> int:
        """Ask it to end, wait, and return its exit code."""
        self.thaw()
        self.terminate()
        return self.await_exit()

    def log_tail(self, characters: int = 4000) -> str:
        """The end of what it wrote to standard output and standard error."""
        return self.log.read_text(errors="replace")[-characters:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.exit_code is None:
            self.kill()

    def _listen(self) -> None:
        """Copy standard output to the log, so that the pipe never fills, and keep its first lines."""
        assert self._process.stdout is not None
        with self._process.stdout as lines, self.log.open("ab", buffering=0) as log:
            for line in lines:
                log.write(line)
                if len(self._lines) < KEPT_LINES:
                    with self._more:
                        self._lines.append(line.decode(errors="replace").rstrip("\n"))
                        self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()


def python(*arguments: str) -> list[str]:
    """A command that runs this interpreter."""
    return [sys.executable, *arguments]


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This environment without settings of ours, but with these, and with the sources importable."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MCPFLEET_")}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **extra}


def assert_ends(pid: int, within: float = 10) -> None:
    """Return once the kernel has ended the process; fail after `within` seconds."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(watch):
        assert select.select([watch], [], [], within)[0], f"process {pid} is still alive"
