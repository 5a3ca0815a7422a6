"""The two views of one store that the backplane's own tests run over, for what the engine builds on it."""

from tests.backplane.conftest import pair

__all__ = ["pair"]
