"""A helpdesk: tools, and the skills that tell a model how to use them."""

from pathlib import Path
from typing import Annotated

from mcpfleet import Server, ToolError

server = Server("helpdesk", version="1.0.0")
server.add_skills(Path(__file__).parent / "skills")

ORDERS = {1001: "delivered 12 days ago, 49 euros", 1002: "delivered 40 days ago, 120 euros"}


@server.tool
def order(number: Annotated[int, "As printed on the invoice."]) -> str:
    """Look up an order."""
    if number not in ORDERS:
        raise ToolError(f"There is no order {number}.")
    return ORDERS[number]
