"""What can happen next."""

from collections.abc import Callable
from typing import NamedTuple


class Choice(NamedTuple):
    """Something that can happen now; what is not `due` may also never happen."""

    label: str
    act: Callable[[], object]
    due: bool = True
