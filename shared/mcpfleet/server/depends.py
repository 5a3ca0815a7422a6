"""Parameters that the server fills: `Annotated[Database, Depends(connect)]`."""

from collections.abc import Callable
from typing import Annotated, Any, get_args, get_origin


class Depends:
    """Marks a parameter as filled by what `function` returns, for each call anew; clients do not see it.

    The function may take a `Context` and parameters that depend on others, and is called once a call however many ask
    for it. One that is an asynchronous generator yields the value once, and goes on after the call, however that ended.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"Depends({getattr(self.function, '__name__', self.function)})"


def dependency(hint: Any) -> Depends | None:
    """What a parameter of this hint depends on; None if a client gives it."""
    if get_origin(hint) is not Annotated:
        return None
    return next((meta for meta in get_args(hint)[1:] if isinstance(meta, Depends)), None)
