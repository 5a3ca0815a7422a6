"""From what an operator decides to the rules of the engine."""

from mcpfleet.server.exchange import Retention
from mcpfleet.server.policy import Policy
from mcpfleet.server.tasks.policy import TaskPolicy
from mcpfleet_service.settings import Settings


def policy_of(settings: Settings, *, worker: bool = False) -> Policy:
    """The rules of a process; `worker`: it runs tasks and serves nobody."""
    return Policy(
        session_idle=settings.session_idle or float(365 * 86_400),
        max_sessions=settings.max_sessions,
        max_processes=settings.max_processes,
        lease=settings.lease,
        stream_after=settings.sse_after,
        hold=settings.hold,
        state_ttl=settings.state_ttl,
        key_encryption_key=settings.wrapping_key,
        retention=Retention(settings.retention, settings.retention_entries),
        max_listens=settings.max_listens,
        drain=settings.drain,
        handshake=settings.handshake_revision,
        page_size=settings.page_size,
        tasks=TaskPolicy(
            ttl=settings.task_ttl,
            attempts=settings.task_attempts,
            concurrency=settings.task_concurrency,
            queues=settings.task_queues,
            poll=settings.task_poll,
            max_tasks=settings.max_tasks,
            max_tasks_each=settings.max_tasks_each,
            worker=worker,
        ),
    )
