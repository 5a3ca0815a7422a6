"""What these tests have from those of the engine."""

from tests.server.world import memory

__all__ = ["memory"]
