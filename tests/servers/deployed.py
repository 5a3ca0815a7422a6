"""Two versions of one server: the second has lost one tool and got another."""

from typing import Final

from mcpfleet import Server

ONE: Final = "tests.servers.deployed:one"
TWO: Final = "tests.servers.deployed:two"

one = Server("deployed", version="1")
two = Server("deployed", version="2")


@one.tool
@two.tool
def common(x: str) -> str:
    """Say it again."""
    return x


@one.tool
def old() -> str:
    """Only in the first version."""
    return "old"


@two.tool
def new() -> str:
    """Only in the second version."""
    return "new"
