"""A forecast for any city, made up: typed arguments, a typed result, and progress."""

import asyncio
import random
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from mcpfleet import Context, Server

server = Server("weather", version="1.0.0", instructions="Forecasts for any city. The data is made up.")


@dataclass
class Day:
    """One day's weather."""

    high: float
    sky: Literal["clear", "cloudy", "rain"]


@dataclass
class Forecast:
    """The weather to come."""

    city: str
    units: str
    days: list[Day]


@server.tool
async def forecast(
    ctx: Context,
    city: str,
    days: Annotated[int, Meta(ge=1, le=14)] = 3,
    units: Literal["celsius", "fahrenheit"] = "celsius",
) -> Forecast:
    """Forecast the weather of a city."""
    sky = random.Random(city)
    result: list[Day] = []
    for day in range(days):
        await ctx.report_progress(day, total=days, message=f"day {day + 1}")
        await asyncio.sleep(0.05)
        high = round(sky.uniform(-5, 35), 1)
        result.append(
            Day(high if units == "celsius" else round(high * 9 / 5 + 32, 1), sky.choice(["clear", "cloudy", "rain"]))
        )
    return Forecast(city, units, result)
