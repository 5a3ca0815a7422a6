"""A server whose calls become tasks."""

import asyncio
from typing import Any

from mcpfleet import Context, ElicitForm, InputRequiredResult, ProtocolError, Server, ToolAnnotations, ToolError, forms

TWICE = ToolAnnotations(idempotent_hint=True)
FORM = forms.form(name=forms.text())


class Digging:
    """The tools of one test, which obey it, and what they have done; its servers share them."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.cancelled = asyncio.Event()
        self.go = asyncio.Event()

    def server(self, **options: Any) -> Server:
        """A server with these tools."""
        server = Server("digging", version="1", **options)

        @server.tool(task="optional", annotations=TWICE)
        async def dig(depth: int, ctx: Context) -> dict[str, Any]:
            self.runs.append("dig")
            return {"depth": depth}

        @server.tool(task="required")
        async def mine() -> str:
            self.runs.append("mine")
            raise ToolError("there is nothing")

        @server.tool(task="optional")
        async def break_down() -> None:
            raise ProtocolError(-32050, "it broke", {"part": "shovel"})

        @server.tool(task="optional", queue="slow", task_ttl=60)
        async def wait(ctx: Context) -> str:
            self.runs.append("wait")
            await ctx.report_progress(1, total=2, message="waiting")
            try:
                await self.go.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
            return "waited"

        self._add_askers(server)
        _add_detachers(server)
        return server

    def _once(self) -> int:
        self.runs.append("once")
        return self.runs.count("once")

    def _add_askers(self, server: Server) -> None:
        @server.tool(task="optional", annotations=TWICE)
        async def ask(ctx: Context) -> list[str]:
            asked = [ctx.elicit(f"Who is {number}?", FORM) for number in (1, 2)]
            return [answer.action for answer in await asyncio.gather(*asked)]

        @server.tool(task="optional", detach=False, annotations=TWICE)
        async def ask_first(ctx: Context) -> list[str]:
            name = await ctx.elicit("Who?", FORM)
            once = await ctx.step("once", self._once)
            await ctx.detach()
            self.runs.append("detached")
            return [name.action, str(once), str(ctx.task_id is not None)]

        @server.tool(task="optional", detach=False)
        async def speak_of_rounds(ctx: Context) -> Any:
            if ctx.request_state is None:
                question = ElicitForm(message="Who?", requested_schema=FORM)
                return InputRequiredResult(input_requests={"who": question}, request_state="asked")
            await ctx.detach()
            return f"{ctx.input_responses['who']['action']} {ctx.request_state}"


def _add_detachers(server: Server) -> None:
    @server.tool(task="optional", detach=False, annotations=TWICE)
    async def stay(ctx: Context) -> bool:
        await ctx.detach()
        return ctx.task_id is not None

    @server.tool(task="optional", detach=False, annotations=TWICE)
    async def ask_and_detach(ctx: Context, first: str) -> str:
        both = [ctx.elicit("Who?", FORM), ctx.detach()]
        results = await asyncio.gather(*(both if first == "ask" else reversed(both)))
        return next(str(result.action) for result in results if result is not None)

    @server.tool(task="optional", detach=False, annotations=TWICE)
    async def ask_beside(ctx: Context) -> str:
        asking = asyncio.ensure_future(ctx.elicit("Who?", FORM))
        try:
            await ctx.detach()
        finally:
            await asyncio.sleep(0.05)
        return (await asking).action

    @server.tool(task="optional", detach=False, annotations=TWICE)
    async def look_late(ctx: Context) -> list[str]:
        async def later() -> str:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return (await ctx.elicit("Late?", FORM)).action

        late = asyncio.ensure_future(later())
        first = await ctx.elicit("Early?", FORM)
        await ctx.detach()
        return [first.action, await late]

    @server.tool
    async def plain(ctx: Context) -> str:
        await ctx.detach()
        return "here"
