"""Every kind of handler can be cancelled, and is told why (Cancellation, "Cancellation Flow")."""

import asyncio
import secrets

import pytest

from tests.answer import Json
from tests.fleets import Fleet
from tests.wire import LATEST_HANDSHAKE, LEGACY, MODERN, connected

KINDS = ["tool", "thread", "prompt", "resource", "completion", "method"]


def waiting(kind: str, tag: str) -> tuple[str, Json]:
    """A request to a handler of this kind that would take long."""
    match kind:
        case "tool" | "thread":
            name = "linger" if kind == "tool" else "toil"
            return "tools/call", {"name": name, "arguments": {"tag": tag}}
        case "prompt":
            return "prompts/get", {"name": "linger", "arguments": {"tag": tag}}
        case "resource":
            return "resources/read", {"uri": f"wait://{tag}"}
        case "completion":
            argument = {"name": "tag", "value": tag}
            return "completion/complete", {"ref": {"type": "ref/prompt", "name": "linger"}, "argument": argument}
    return "acme/linger", {"tag": tag}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancelled_handler_is_told_the_clients_reason(featured: Fleet, kind: str) -> None:
    """Cancellation, "Cancellation Flow": an optional reason that can be logged or displayed."""
    tag = secrets.token_hex(4)
    async with connected(featured.url, LATEST_HANDSHAKE) as client:
        async with client.asking(*waiting(kind, tag), as_id="c", pin=0) as stream:
            await journalled(featured, f"began {tag}")
            assert await stream.event() is not None  # a stream by now, so the call is known by its id
            cancel = {"requestId": "c", "reason": "changed my mind"}
            assert (
                await client.notify("notifications/cancelled", cancel, pin=len(featured.processes) - 1)
            ).status == 202
            assert (await stream.answer(within=2)).replies == []
        await journalled(featured, f"cancelled {tag}: changed my mind")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_modern_handler_is_cancelled_by_closing_its_response_which_gives_no_reason(
    featured: Fleet, kind: str
) -> None:
    """Streamable HTTP 2026-07-28, "Cancellation"."""
    tag = secrets.token_hex(4)
    async with connected(featured.url, MODERN) as client, asyncio.TaskGroup() as tasks:
        request = tasks.create_task(client.request(*waiting(kind, tag), pin=0))
        await journalled(featured, f"began {tag}")
        request.cancel()
    await journalled(featured, f"cancelled {tag}: ")


@pytest.mark.parametrize("reason", [7, None, ["x"], {}, ""])
async def test_a_reason_that_is_no_text_is_none(featured: Fleet, reason: object) -> None:
    tag = secrets.token_hex(4)
    async with connected(featured.url, LEGACY[-1]) as client, client.calling("linger", pin=0, tag=tag) as stream:
        await journalled(featured, f"began {tag}")
        await asyncio.wait_for(client.notify("notifications/cancelled", {"requestId": 1, "reason": reason}), 10)
        assert (await stream.answer(within=2)).replies == []
    await journalled(featured, f"cancelled {tag}: ")


async def test_of_a_long_reason_the_beginning_is_kept(featured: Fleet) -> None:
    tag = secrets.token_hex(4)
    async with connected(featured.url, LATEST_HANDSHAKE) as client, client.calling("linger", pin=0, tag=tag) as stream:
        await journalled(featured, f"began {tag}")
        await client.notify("notifications/cancelled", {"requestId": 1, "reason": "x" * 100_000})
        assert (await stream.answer(within=2)).replies == []
    await journalled(featured, f"cancelled {tag}: {'x' * 1000}")


async def journalled(fleet: Fleet, entry: str) -> None:
    """Return once a handler of the first process has written the entry; ask until then."""
    async with asyncio.timeout(10), connected(fleet.url, MODERN) as client:
        while entry not in (await client.call("journal", pin=0)).value:
            pass
