"""Property tests here are about what holds, not about how fast: a busy machine fails none of them."""

from hypothesis import settings

settings.register_profile("protocol", deadline=None)
settings.load_profile("protocol")
