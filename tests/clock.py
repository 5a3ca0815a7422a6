"""A clock that moves only when told."""


class Clock:
    """Seconds, as `time.monotonic` gives them; `pass_by` moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
