"""What is served: that it can be imported, and what it comes to."""

from collections.abc import Sequence

from mcpfleet import Server
from mcpfleet_service.doctor.finding import Finding, fault, fine, warning
from mcpfleet_service.settings import Settings
from mcpfleet_service.target import find_server, named


def examined(settings: Settings) -> tuple[str | None, Sequence[Finding]]:
    """The name of the server, None if there is none, and what was found of it."""
    try:
        server = named(find_server(settings), settings)
    except Exception as error:  # noqa: BLE001  # the boundary: whatever a user's module raises is what was looked for
        return None, [fault("server", f"it cannot be loaded: {type(error).__name__}: {error}")]
    return server.name, [fine("server", f"{server.name} {server.info.version}: {_told(server)}"), *_tasks(server)]


def _told(server: Server) -> str:
    registry = server.registry
    counts = {
        "tool": len(registry.tools),
        "prompt": len(registry.prompts),
        "resource": len(registry.resources),
        "template": len(registry.templates),
        "skill": len(registry.skills),
    }
    told = [f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count]
    return ", ".join(told) or "nothing is offered"


def _tasks(server: Server) -> Sequence[Finding]:
    once = [tool.name for tool in server.registry.tools if tool.task and not tool.repeatable]
    if not once:
        return ()
    return (
        warning(
            "tasks",
            f"{', '.join(once)}: a run that breaks off is not begun again, since nothing says that it may be; if it "
            "may, say so with annotations=ToolAnnotations(idempotent_hint=True)",
        ),
    )
