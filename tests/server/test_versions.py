"""While a deploy is under way, a name that another version has is told from one that nobody has."""

from functools import partial
from typing import Any

import pytest

from mcpfleet import Server
from tests.server.wire import Node
from tests.server.world import World, eventually

each = pytest.mark.parametrize(("method", "kind"), [("tools/call", "tool"), ("prompts/get", "prompt")])


def version(number: int) -> Server:
    """A server of which each version has a tool and a prompt of its own."""
    server = Server("deployed", version=str(number), switchable=True)

    @server.tool
    def both() -> str:
        """In both versions."""
        return "both"

    @server.tool(name=f"tool-{number}")
    def tool() -> str:
        """Work."""
        return "worked"

    @server.prompt(name=f"prompt-{number}")
    def prompt() -> str:
        """Ask."""
        return "asked"

    return server


async def deployed(world: World) -> tuple[Node, Node]:
    """A process of each of two versions that know of each other, and of what the other has."""
    old, new = [await world.node(server=version(number)) for number in (1, 2)]
    await world.beat(old, new, old)
    await eventually(partial(both_published, world))
    return old, new


async def both_published(world: World) -> bool:
    return len([name for name in await world.keys() if "versions" in name]) == 2


async def refusal(node: Node, method: str, name: str) -> Any:
    return (await node.modern(method, {"name": name}).got()).error


@each
async def test_what_only_another_living_version_has_is_refused_with_that_reason(
    world: World, method: str, kind: str
) -> None:
    for number, node in enumerate(await deployed(world), start=1):
        other = f"{kind}-{3 - number}"
        error = await refusal(node, method, other)
        assert (error["code"], error["data"]) == (-32602, {"reason": "other_version"})
        assert error["message"].startswith(f"Unknown {kind}: {other} to this version")


@each
async def test_what_no_living_version_has_is_unknown(world: World, method: str, kind: str) -> None:
    old, new = await deployed(world)
    for node in (old, new):
        assert await refusal(node, method, "nobody's") == unknown(kind, "nobody's")
    await world.stop(new)
    await world.beat(old)
    assert await refusal(old, method, f"{kind}-2") == unknown(kind, f"{kind}-2")


async def test_what_is_switched_off_is_unknown_whatever_other_versions_have(world: World) -> None:
    old, _ = await deployed(world)
    await old.engine.fleet.disable("tool", "both")
    assert await refusal(old, "tools/call", "both") == unknown("tool", "both")


async def test_while_the_store_is_away_it_is_unknown(world: World) -> None:
    old, _ = await deployed(world)
    world.links[old].away = True
    assert await refusal(old, "tools/call", "tool-2") == unknown("tool", "tool-2")


async def test_a_version_that_stores_its_names_in_another_way_has_none(world: World) -> None:
    old, new = await deployed(world)
    await world.store.put(f"versions/{new.engine.server.registry.digest}", b"\xff", ttl=60)
    assert await refusal(old, "tools/call", "tool-2") == unknown("tool", "tool-2")


def unknown(kind: str, name: str) -> dict[str, Any]:
    return {"code": -32602, "message": f"Unknown {kind}: {name}"}
