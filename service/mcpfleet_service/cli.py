"""The command line: `mcpfleet`."""

import asyncio
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from mcpfleet.errors import McpFleetError

if TYPE_CHECKING:
    from mcpfleet_service.settings import Settings

app = typer.Typer(
    name="mcpfleet",
    help="The MCP application server for Python.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


keys = typer.Typer(help="The keys that seal requestState.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(keys, name="keys")


def main(args: Sequence[str] | None = None) -> None:
    """Run one command and exit: 0 after a clean end, 2 for what the user can put right, told in one line."""
    try:
        app(args)
    except McpFleetError as refused:
        _refuse(str(refused))


def _refuse(why: str) -> NoReturn:
    typer.echo(f"mcpfleet: {why}", err=True)
    sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mcpfleet {version('mcpfleet')}")
        raise typer.Exit


@app.callback()
def mcpfleet(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The MCP application server for Python."""


@app.command()
def serve(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:SERVER]", help="What to serve; without it, what installed packages register."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen: MCPFLEET_HOST, else 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Where to listen; 0 takes a free port: MCPFLEET_PORT, else 8000.")
    ] = None,
    path: Annotated[str | None, typer.Option(help="The MCP endpoint: MCPFLEET_PATH, else /mcp.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many processes serve: MCPFLEET_WORKERS, else 1.")] = None,
    redis_url: Annotated[
        str | None,
        typer.Option(
            help="What the processes share: MCPFLEET_REDIS_URL. "
            "Without it one process keeps everything in memory, and several share an embedded server."
        ),
    ] = None,
    reload: Annotated[bool, typer.Option("--reload", help="Start again when the code changes (one process).")] = False,
) -> None:
    """Serve MCP over HTTP until SIGTERM or Ctrl-C."""
    _require("service", "fastapi", "uvicorn")
    from mcpfleet_service.serving import serve  # noqa: PLC0415  # needs the extra, and would slow `--help`
    from mcpfleet_service.settings import Settings  # noqa: PLC0415  # likewise

    given = {"APP": target, "HOST": host, "PORT": port, "PATH": path, "WORKERS": workers, "REDIS_URL": redis_url}
    os.environ.update({f"MCPFLEET_{name}": str(value) for name, value in given.items() if value is not None})
    settings = Settings.from_environment(os.environ)
    if settings.redis_url is not None or settings.workers > 1:
        _require("redis", "redis")
    if reload and settings.workers > 1:
        _refuse("--reload serves with one process: leave out --workers and MCPFLEET_WORKERS")
    sys.path.insert(0, str(Path.cwd()))
    if settings.app is not None and not reload:
        _check(settings.app)
    raise typer.Exit(serve(settings, reload=reload))


@app.command()
def work(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:SERVER]", help="Whose tasks; without it, what installed packages register."),
    ] = None,
    queue: Annotated[
        list[str] | None,
        typer.Option(help="Which tasks, the first queue's first; may be repeated: MCPFLEET_TASK_QUEUES, else all."),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(help="How many tasks at once: MCPFLEET_TASK_CONCURRENCY, else 10.")
    ] = None,
    redis_url: Annotated[
        str | None, typer.Option(help="What it shares with those that serve: MCPFLEET_REDIS_URL.")
    ] = None,
) -> None:
    """Run the tasks that serving processes make, until SIGTERM or Ctrl-C."""
    _require("redis", "redis")
    from mcpfleet_service.settings import Settings  # noqa: PLC0415  # would slow `--help`
    from mcpfleet_service.working import run  # noqa: PLC0415  # it loads the whole engine

    queues = None if queue is None else ",".join(queue)
    given = {"APP": target, "TASK_QUEUES": queues, "TASK_CONCURRENCY": concurrency, "REDIS_URL": redis_url}
    os.environ.update({f"MCPFLEET_{name}": str(value) for name, value in given.items() if value is not None})
    sys.path.insert(0, str(Path.cwd()))
    raise typer.Exit(run(Settings.from_environment(os.environ)))


@app.command()
def stdio(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:SERVER]", help="What to serve; without it, what installed packages register."),
    ] = None,
) -> None:
    """Serve MCP to the process that starts this one, over standard input and output, until it closes them."""
    from mcpfleet.server import pipes, stdio  # noqa: PLC0415  # they load the whole engine, and would slow `--help`
    from mcpfleet_service.settings import Settings  # noqa: PLC0415  # likewise
    from mcpfleet_service.target import find_server, named  # noqa: PLC0415  # likewise

    with pipes.standard_pipes() as standard:
        logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(name)s: %(message)s")
        if target is not None:
            os.environ["MCPFLEET_APP"] = target
        settings = Settings.from_environment(os.environ)
        sys.path.insert(0, str(Path.cwd()))
        server = named(find_server(settings), settings)
        policy = replace(
            stdio.POLICY,
            handshake=settings.handshake_revision,
            page_size=settings.page_size,
            state_ttl=settings.state_ttl,
        )
        code = stdio.run(server, standard, max_line=settings.max_line, policy=policy)
    raise typer.Exit(code)


@app.command()
def doctor(
    target: Annotated[
        str | None,
        typer.Argument(metavar="[MODULE:SERVER]", help="What is to be served, as `serve` has it."),
    ] = None,
    redis_url: Annotated[str | None, typer.Option(help="What the processes share: MCPFLEET_REDIS_URL.")] = None,
) -> None:
    """Look at the settings, the server and Redis, and say what is to be mended; exit 1 if anything must be."""
    from mcpfleet_service.doctor import examined  # noqa: PLC0415  # it loads the whole engine, and would slow `--help`
    from mcpfleet_service.doctor.finding import Grade  # noqa: PLC0415  # likewise
    from mcpfleet_service.settings import Settings  # noqa: PLC0415  # likewise

    logging.basicConfig(level=logging.ERROR)
    given = {"MCPFLEET_APP": target, "MCPFLEET_REDIS_URL": redis_url}
    os.environ.update({name: value for name, value in given.items() if value is not None})
    sys.path.insert(0, str(Path.cwd()))
    settings = Settings.from_environment(os.environ)
    if settings.redis_url is not None:
        _require("redis", "redis")
    findings = asyncio.run(examined(settings))
    for finding in findings:
        typer.echo(str(finding))
    raise typer.Exit(1 if any(finding.grade is Grade.FAULT for finding in findings) else 0)


@keys.command("list")
def list_keys(
    target: Annotated[
        str | None, typer.Argument(metavar="[MODULE:SERVER]", help="Whose; not needed where MCPFLEET_NAMESPACE is set.")
    ] = None,
    redis_url: Annotated[str | None, typer.Option(help="Where they are: MCPFLEET_REDIS_URL.")] = None,
) -> None:
    """Tell the ids of the keys, oldest first, and which of them can still open what was sealed with them."""
    from mcpfleet_service.keys import listed  # noqa: PLC0415  # needs the extra, and would slow `--help`

    for key_id, kept in asyncio.run(listed(_of_fleet(target, redis_url))):
        typer.echo(f"{key_id}  {'kept' if kept else 'expired'}")


@keys.command("rotate")
def rotate_keys(
    target: Annotated[
        str | None, typer.Argument(metavar="[MODULE:SERVER]", help="Whose; not needed where MCPFLEET_NAMESPACE is set.")
    ] = None,
    redis_url: Annotated[str | None, typer.Option(help="Where they are: MCPFLEET_REDIS_URL.")] = None,
) -> None:
    """Add a key now, and tell its id; the fleet seals with it within two minutes."""
    from mcpfleet_service.keys import rotate  # noqa: PLC0415  # needs the extra, and would slow `--help`

    typer.echo(asyncio.run(rotate(_of_fleet(target, redis_url))))


@app.command("dead-letters")
def dead_letters(
    target: Annotated[
        str | None, typer.Argument(metavar="[MODULE:SERVER]", help="Whose; not needed where MCPFLEET_NAMESPACE is set.")
    ] = None,
    redis_url: Annotated[str | None, typer.Option(help="Where they are: MCPFLEET_REDIS_URL.")] = None,
) -> None:
    """Tell which tasks were given up since their processes died: when, id, tool, why, and how often it was begun."""
    from mcpfleet_service.deadletters import line, listed  # noqa: PLC0415  # needs the extra, and would slow `--help`

    for letter in asyncio.run(listed(_of_fleet(target, redis_url))):
        typer.echo(line(letter))


def _of_fleet(target: str | None, redis_url: str | None) -> "Settings":
    _require("redis", "redis")
    from mcpfleet_service.settings import Settings  # noqa: PLC0415  # would slow `--help`

    given = {"MCPFLEET_APP": target, "MCPFLEET_REDIS_URL": redis_url}
    os.environ.update({name: value for name, value in given.items() if value is not None})
    sys.path.insert(0, str(Path.cwd()))
    return Settings.from_environment(os.environ)


def _check(target: str) -> None:
    """Find the server in this process too: what is wrong with it is told once, before any process starts."""
    from mcpfleet_service.target import load_server  # noqa: PLC0415  # it loads the whole engine

    load_server(target)


def _require(extra: str, *modules: str) -> None:
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        _refuse(f"{' and '.join(missing)} not installed; get what is missing with: pip install 'mcpfleet[{extra}]'")


if __name__ == "__main__":
    main()
