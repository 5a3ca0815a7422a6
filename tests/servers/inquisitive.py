"""A server for the tests of questions: tools that ask their client, and tell what they went through."""

import asyncio
import os
import secrets
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from mcpfleet import (
    Context,
    ElicitForm,
    ElicitResult,
    ElicitUrl,
    InputRequiredResult,
    ListRoots,
    QuestionFailed,
    Server,
    ToolError,
    UrlElicitationRequired,
    forms,
)
from mcpfleet.errors import ClientRefused
from mcpfleet.protocol.questions import Question

server = Server("inquisitive", version="1.0.0")

journal_entries: list[str] = []
"""What the tools of this process went through, in order."""


@dataclass
class Person:
    """Who somebody is."""

    name: Annotated[str, msgspec.Meta(min_length=1)]
    mood: Literal["warm", "cool"] = "warm"
    age: int | None = None


@server.tool
async def greet(ctx: Context, timeout: float | None = None, tag: str = "") -> str:
    """Ask who is there, and greet."""
    journal_entries.append(f"asked {tag}")
    try:
        answer = await ctx.elicit("Who are you?", Person, timeout=timeout)
    except asyncio.CancelledError:
        journal_entries.append(f"cancelled {tag}")
        raise
    except ClientRefused as error:
        raise ToolError(f"refused: {error.code} {error.message} {error.data}") from None
    if answer.content is None:
        return f"{answer.action}d"
    return f"{answer.content.mood} {answer.content.name} {answer.content.age}"


@server.tool
async def fill_in(ctx: Context) -> dict[str, object]:
    """Ask with every kind of field."""
    form = forms.form(
        name=forms.text(title="Name", default="John"),
        age=forms.integer(minimum=0, default=30),
        score=forms.number(default=95.5),
        agreed=forms.yes_no(default=True),
        single=forms.choice(["a", "b"]),
        titled=forms.choice({"a": "First", "b": "Second"}),
        named=forms.named_choice({"a": "First", "b": "Second"}),
        several=forms.choices(["a", "b"], optional=True),
    )
    answer = await ctx.elicit("All of it", form)
    return {"action": answer.action, "content": answer.content}


@server.tool
async def both(ctx: Context) -> str:
    """Ask two things at once."""
    answer, said = await asyncio.gather(
        ctx.elicit("Who?", forms.form(name=forms.text())), ctx.sample("What is the capital?", max_tokens=10)
    )
    return f"{(answer.content or {}).get('name')} {said.text}"


@server.tool
async def where(ctx: Context) -> list[str]:
    """Ask for the roots."""
    return [root.uri for root in await ctx.list_roots()]


@server.tool
async def ping_back(ctx: Context) -> str:
    """Ping the client."""
    await ctx.ping(timeout=5)
    return "there"


@server.tool
async def patient(ctx: Context) -> str:
    """Ask, and go on without an answer."""
    try:
        await ctx.elicit("Anybody?", Person, timeout=0.3)
    except QuestionFailed as error:
        return f"went on: {type(error).__name__}"
    return "answered"


@server.tool(timeout=0.3)
async def hurried(ctx: Context) -> str:
    """Ask, with less time than an answer takes."""
    await ctx.elicit("Quick!", Person)
    return "answered"


@server.tool
def pid() -> int:
    """Which process this is."""
    return os.getpid()


@server.tool
def journal() -> list[str]:
    """What the tools of this very process went through; pin the request to a process."""
    return journal_entries


@server.tool
async def booked(ctx: Context, room: str, tag: str = "") -> dict[str, object]:
    """Reserve in a step, then ask twice, one thing after the other."""

    async def reserve() -> str:
        journal_entries.append(f"reserved {tag}")
        return f"{room}-{secrets.token_hex(4)}"

    journal_entries.append(f"began {tag}")
    reservation = await ctx.step("reserve", reserve)
    name = await ctx.elicit("Who?", forms.form(name=forms.text()))
    paid = await ctx.elicit("Pay?", forms.form(paid=forms.yes_no()))
    return {"reservation": reservation, "name": name.content, "paid": paid.content}


@server.tool
async def branches(ctx: Context) -> list[str]:
    """Ask in two branches, of which one takes its time and the other asks twice."""

    async def quick() -> str:
        first = await ctx.elicit("quick 1", forms.form(a=forms.text()))
        second = await ctx.elicit("quick 2", forms.form(a=forms.text()))
        return f"{first.content} {second.content}"

    async def slow() -> str:
        await asyncio.sleep(0.05)
        return str((await ctx.elicit("slow", forms.form(a=forms.text()))).content)

    return list(await asyncio.gather(quick(), slow()))


@server.tool
async def fickle(ctx: Context) -> str:
    """Ask something else each time."""
    await ctx.elicit(f"Is it {secrets.token_hex(4)}?", forms.form(a=forms.text()))
    return "answered"


@server.tool
async def deaf(ctx: Context) -> str:
    """Take no notice of being cancelled."""
    try:
        await ctx.elicit("Who?", forms.form(name=forms.text()))
    except asyncio.CancelledError:
        return "went on"
    return "answered"


@server.tool
async def hoarder(ctx: Context) -> str:
    """Keep more than a state can carry."""
    await ctx.step("much", lambda: "x" * 100_000)
    await ctx.elicit("Who?", forms.form(name=forms.text()))
    return "answered"


@server.tool
async def by_hand(ctx: Context) -> str | InputRequiredResult:
    """Speak of rounds itself, with a key of its own and without a state."""
    answer = ctx.input_response("user_name", ElicitResult)
    if answer is None:
        question = ElicitForm(message="Who?", requested_schema=forms.form(name=forms.text()))
        return InputRequiredResult(input_requests={"user_name": question})
    return f"Hello, {(answer.content or {}).get('name')}!"


@server.tool
async def stepwise(ctx: Context) -> str | InputRequiredResult:
    """Speak of rounds itself, with a state that counts them."""
    done = 0 if ctx.request_state is None else int(ctx.request_state)
    if done == 3:
        return f"after {done} rounds: {sorted(ctx.input_responses)}"
    wanted: dict[str, Question] = {"client_roots": ListRoots()}
    if "elicitation" in ctx.client_capabilities:
        wanted["step"] = ElicitForm(message=f"Step {done}?", requested_schema=forms.form(a=forms.text()))
    return InputRequiredResult(input_requests=wanted, request_state=str(done + 1))


@server.tool
async def restless(ctx: Context) -> InputRequiredResult:
    """Ask without end."""
    return InputRequiredResult(request_state="again")


@server.prompt
async def about(ctx: Context) -> str | InputRequiredResult:
    """Ask what to talk about."""
    answer = ctx.input_response("user_context", ElicitResult)
    if answer is None:
        question = ElicitForm(message="About what?", requested_schema=forms.form(topic=forms.text()))
        return InputRequiredResult(input_requests={"user_context": question})
    return f"Let us talk about {(answer.content or {}).get('topic')}."


@server.resource("secret://{name}")
async def secret(name: str, ctx: Context) -> str:
    """Ask whether it may be read."""
    allowed = await ctx.elicit(f"Show {name}?", forms.form(allow=forms.yes_no()))
    return f"{name} is {'shown' if (allowed.content or {}).get('allow') else 'hidden'}"


@server.tool
async def pay(ctx: Context) -> str:
    """Send the user to a page, and say when that is done."""
    action = await ctx.elicit_url("Pay, please", "https://example.com/pay", elicitation_id="e-1")
    await ctx.complete_elicitation("e-1")
    return action


@server.tool
async def connect(ctx: Context) -> str:
    """Demand a visit first; a modern client's word that the user agreed is enough here."""
    if not ctx.input_responses:
        raise UrlElicitationRequired(ElicitUrl(message="Sign in", url="https://example.com/connect"))
    if any(answer.get("action") != "accept" for answer in ctx.input_responses.values()):
        raise UrlElicitationRequired(ElicitUrl(message="Sign in", url="https://example.com/connect"))
    return "connected"


@server.on_roots_changed
async def roots_changed(ctx: Context) -> None:
    """Note it; one client in the tests makes this fail."""
    journal_entries.append(f"roots changed {ctx.session_id}")
    if (ctx.client_info or {}).get("name") == "unlucky":
        raise RuntimeError("no luck")
