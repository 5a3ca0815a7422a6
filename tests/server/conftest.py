"""What the engine's tests run over: two views of one store, and whole processes over one."""

from tests.backplane.conftest import pair
from tests.server.world import memory, world

__all__ = ["memory", "pair", "world"]
