"""A hotel that asks: a form for the guest, a word from the guest's model, and what must not be done twice in a step."""

import random
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from mcpfleet import Context, Server, ToolError

server = Server("hotel", version="1.0.0", instructions="Rooms of a hotel that does not exist.")


@dataclass
class Guest:
    """Who comes; every field becomes one of a form that the client shows."""

    name: Annotated[str, Meta(min_length=1, title="Your name")]
    nights: Annotated[int, Meta(ge=1, le=14)] = 1
    bed: Literal["single", "double"] = "single"


@server.tool
async def book(ctx: Context) -> str:
    """Book a room, after asking who comes."""
    # A modern client is asked by ending the request, and its retry runs this function again: a step is not run again.
    room = await ctx.step("reserve", lambda: random.randint(100, 999))
    answer = await ctx.elicit(f"Room {room} is free. Who comes?", Guest)
    if answer.content is None:
        raise ToolError("The guest did not want the room.")
    guest = answer.content
    return f"Room {room} is booked for {guest.name}: {guest.nights} nights, a {guest.bed} bed."


@server.tool
async def welcome(name: str, ctx: Context) -> str:
    """Welcome a guest in the words of the guest's own model."""
    said = await ctx.sample(f"Welcome {name} to a small hotel by the sea, in one sentence.", max_tokens=100)
    return said.text
