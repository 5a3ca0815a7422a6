"""The processes behind one port, which tell each other how they do: each listens on a socket in a common folder."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from mcpfleet.server.vitals import Report

FOLDER: Final = "_MCPFLEET_SIBLINGS"
"""The variable by which a command tells its processes where the folder is."""
ANSWER_SECONDS: Final = 1.0
"""How long one may take to tell; who takes longer is left out, as a dead one is."""
MAX_BYTES: Final = 16 * 1024 * 1024

log = logging.getLogger("mcpfleet_service")


@contextmanager
def common_folder() -> Iterator[None]:
    """Have the processes that are started in the block find each other."""
    with TemporaryDirectory(prefix="mcpfleet-") as folder:
        os.environ[FOLDER] = folder
        try:
            yield
        finally:
            os.environ.pop(FOLDER, None)


class Siblings:
    """This process among those behind its port; alone where no command has given them a folder."""

    def __init__(self, report: Callable[[], Report], folder: str | None = None) -> None:
        self._report = report
        found = os.environ.get(FOLDER) if folder is None else folder
        self._folder = Path(found) if found else None

    @asynccontextmanager
    async def present(self) -> AsyncIterator[None]:
        """Answer the others for the time of the block."""
        if self._folder is None:
            yield
            return
        socket = self._folder / f"{os.getpid()}.sock"
        async with await asyncio.start_unix_server(self._tell, socket):
            try:
                yield
            finally:
                socket.unlink(missing_ok=True)

    async def reports(self) -> list[Report]:
        """How all of them do now, this one included; those that do not answer in time are left out."""
        mine, others = self._report(), self._others()
        heard = await asyncio.gather(*map(_asked, others))
        return [mine, *(each for each in heard if each is not None)]

    def _others(self) -> list[Path]:
        if self._folder is None:
            return []
        return [each for each in sorted(self._folder.glob("*.sock")) if each.stem != str(os.getpid())]

    async def _tell(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                writer.write(msgspec.msgpack.encode(self._report()))
                await writer.drain()
        writer.close()


async def _asked(socket: Path) -> Report | None:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_unix_connection(socket, limit=MAX_BYTES)
            try:
                return msgspec.msgpack.decode(await reader.read(-1), type=Report)
            finally:
                writer.close()
    except (OSError, TimeoutError, msgspec.MsgspecError) as error:
        log.debug("a sibling is left out: %s", error)
        return None
