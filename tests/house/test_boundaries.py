"""Who may catch everything: a few named boundaries, each for a reason, and nobody else."""

import ast
from collections.abc import Iterator

from tests.house.source import Scope, Source, dotted, planted, product

BOUNDARIES = {
    "mcpfleet/backplane/background.py background": "keeps the block's own exception whole: the group would wrap it",
    "mcpfleet/backplane/faults.py Stepped._outcome": "an actor's failure is a result for the test to judge",
    "mcpfleet/backplane/reconnect.py stay_connected": "whatever ended a connection, a new one is the cure",
    "mcpfleet/client/company.py _guarded": "what accompanies a client fails alone, and not the client's user",
    "mcpfleet/client/desk.py Desk.hear": "what a user's handler raises must not end what it was told about",
    "mcpfleet/client/desk.py Desk.reply": "what a user's handler raises goes to the server without its words",
    "mcpfleet/server/call.py Call.run": "an unforeseen error ends one call, not all of them",
    "mcpfleet/server/choice.py Choice.serve": "what the user's choice raises fails one request, without its words",
    "mcpfleet/server/around.py Around.own": "what a hook raises becomes an error without its words",
    "mcpfleet/server/dispatch.py Dispatcher.serve": "what an author's function raises goes out without its words",
    "mcpfleet/server/engine.py Engine.serve": "an unforeseen error fails one request, not the process",
    "mcpfleet/server/eras/requests.py Requests.announced": "revokes the call, then lets everything pass",
    "mcpfleet/server/failures.py _Report.told": "what the user's reporter raises is logged, and breaks nothing else",
    "mcpfleet/server/lifespan.py _entered": "what the user's lifespan raises stops the start, under its name",
    "mcpfleet/server/notices.py Notices._heed": "what heeds a notification may raise: no response could tell of it",
    "mcpfleet/server/plugins.py load": "what a plugin's import raises stops the start under the plugin's name",
    "mcpfleet/server/reply.py Replies.encode": "whatever a tool put into its result, its caller gets a response",
    "mcpfleet/server/streams.py CallStream.open": "gives the lease up, then lets everything pass",
    "mcpfleet/server/tasks/run.py Run._ending": "whatever a tool put into its result, its task has an end",
    "mcpfleet/server/tasks/runner.py Runner._serve": "an unforeseen error leaves one task, not all of them",
    "mcpfleet/server/threads.py Threads.run.job": "hands whatever a function raises to the caller's own thread",
    "mcpfleet_service/boot.py application": "whatever the user's module raises is told and ends the process",
    "mcpfleet_service/doctor/offer.py examined": "whatever the user's module raises is what was looked for",
    "mcpfleet_service/endpoint.py Endpoint._principal": "what the user's authentication raises refuses the request",
    "mcpfleet_service/accounts.py Accounts.around": "notes what kind of error it was, then lets everything pass",
    "mcpfleet_service/telemetry.py Observer.around": "notes what kind of error it was, then lets everything pass",
    "mcpfleet_service/life.py Life.lived": "whatever ends the engine, the web server is told to stop",
}

EVERYTHING = {"Exception", "BaseException"}


def boundaries(source: Source) -> Iterator[str]:
    """The functions that catch or suppress everything, as `path function`."""
    for scope in source.scopes():
        if _catches_everything(scope):
            yield f"{source.path.relative_to(source.path.parts[0])} {scope.qualified}".rstrip()


def _catches_everything(scope: Scope) -> bool:
    match scope.node:
        case ast.ExceptHandler(type=None):
            return True
        case ast.ExceptHandler(type=caught) if caught is not None:
            return not EVERYTHING.isdisjoint(_names(caught))
        case ast.Call(func=function, args=caught):
            suppresses = dotted(function).rpartition(".")[2] == "suppress"
            return suppresses and any(not EVERYTHING.isdisjoint(_names(each)) for each in caught)
    return False


def _names(caught: ast.expr) -> set[str]:
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return {dotted(kind).rpartition(".")[2] for kind in kinds}


def test_only_the_named_boundaries_catch_everything() -> None:
    found = {each for source in product() for each in boundaries(source)}
    assert sorted(found - BOUNDARIES.keys()) == []


def test_every_named_boundary_is_still_one() -> None:
    found = {each for source in product() for each in boundaries(source)}
    assert sorted(BOUNDARIES.keys() - found) == []


def test_catching_everything_is_found_however_it_is_written() -> None:
    text = """
try: ...
except: ...

def one():
    try: ...
    except (ValueError, builtins.Exception): ...

class Two:
    def three(self):
        try: ...
        except* BaseException: ...
        with contextlib.suppress(KeyError, Exception): ...

def four():
    try: ...
    except ValueError: ...
    with suppress(OSError): ...
"""
    found = list(boundaries(planted(text)))
    assert found == [
        "mcpfleet/planted.py",
        "mcpfleet/planted.py one",
        "mcpfleet/planted.py Two.three",
        "mcpfleet/planted.py Two.three",
    ]
