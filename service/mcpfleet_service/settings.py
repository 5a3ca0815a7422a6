"""Every setting of the service: one frozen object, read from `MCPFLEET_*` variables once, at start."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Self

from msgspec import Meta

from mcpfleet.protocol.revisions import LEGACY_DATES, Revision, find
from mcpfleet_service.settingsfile import with_files
from mcpfleet_service.variables import Variable, check, read, variables

SECONDS: Final = "a number of seconds above 0 and at most a year"
DELAY: Final = "a number of seconds from 0 to a year"
COUNT: Final = "a whole number from 1"
FLAG: Final = "`true` or `false`"
HANDSHAKES: Final = f"one of {', '.join(f'`{date}`' for date in LEGACY_DATES)}"
_YEAR: Final = 31_536_000

Address = Annotated[str, Meta(pattern=r"^[^\s/@,\[\]]+$")]
AppTarget = Annotated[str, Meta(pattern=r"^[\w.]+:[\w.]+$")]
Count = Annotated[int, Meta(ge=1)]
Delay = Annotated[float, Meta(ge=0, le=_YEAR)]
Handshake = Annotated[str, Meta(pattern=f"^({'|'.join(LEGACY_DATES)})$")]
HostName = Annotated[str, Meta(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s/@,:\[\]]+)(:[0-9]{1,5})?$")]
Namespace = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
Origin = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9+.-]*://[^\s/@,]+$")]
Path = Annotated[str, Meta(pattern=r"^(/|(/[A-Za-z0-9_.~-]+)+)$")]
Queue = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
RedisUrl = Annotated[str, Meta(pattern=r"^(rediss?(\+cluster|\+sentinel)?|unix)://.+$")]
Seconds = Annotated[float, Meta(gt=0, le=_YEAR)]
ServerName = Annotated[str, Meta(min_length=1, max_length=128)]
WrappingKey = Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]{43}=$")]
SettleOn = Annotated[str, Meta(pattern=r"^(fsync|replicas:[1-9][0-9]?)$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an operator decides; durations are seconds, and None means switched off (`none`) or not given.

    Raises `SettingsError`, which names the variables, for values that these could not give.
    """

    app: Annotated[
        AppTarget | None,
        Variable("APP", "of the form `module:server`", "the server to serve, else what entry points register"),
    ] = None
    host: Annotated[Address, Variable("HOST", "a host name or address", "where it listens")] = "127.0.0.1"
    port: Annotated[
        int,
        Meta(ge=0, le=65535),
        Variable("PORT", "a port from 0 (any free one) to 65535", "where it listens"),
    ] = 8000
    admin_port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        Variable(
            "ADMIN_PORT",
            "a port from 1 to 65535",
            "where `/livez`, `/readyz` and `/metrics` are, and nothing else; by default they are beside the endpoint",
        ),
    ] = None
    path: Annotated[Path, Variable("PATH", "an absolute path such as `/mcp`", "where the MCP endpoint is")] = "/mcp"
    workers: Annotated[
        int,
        Meta(ge=1, le=1024),
        Variable("WORKERS", "a whole number from 1 to 1024", "how many HTTP processes serve"),
    ] = 1
    redis_url: Annotated[
        RedisUrl | None,
        Variable(
            "REDIS_URL",
            "a `redis://`, `rediss://` or `unix://` URL, a Cluster's (`redis+cluster://` or `rediss+cluster://` and "
            "some of its nodes, separated by commas), or Sentinels' (`redis+sentinel://` or `rediss+sentinel://`, some "
            "of them, and the name of the service as the path)",
            "what the processes share; without it a single process keeps everything in memory",
            secret=True,
        ),
    ] = field(default=None, repr=False)
    namespace: Annotated[
        Namespace | None,
        Variable(
            "NAMESPACE",
            "1 to 64 letters, digits, `_`, `.` or `-`",
            "how every key in Redis begins; by default with the server's name",
        ),
    ] = None
    server_name: Annotated[
        ServerName | None,
        Variable("SERVER_NAME", "1 to 128 characters", "the name that clients see, instead of the server's own"),
    ] = None
    allowed_hosts: Annotated[
        tuple[HostName, ...] | None,
        Variable(
            "ALLOWED_HOSTS",
            "host names or `[IPv6]` addresses, separated by commas",
            "which hosts a request may name; one without a port is served with any",
            off=True,
        ),
    ] = ("localhost", "127.0.0.1", "[::1]")
    allowed_origins: Annotated[
        tuple[Origin, ...] | None,
        Variable(
            "ALLOWED_ORIGINS",
            "origins such as `https://app.example.com`, separated by commas",
            "which web pages may send requests, beside those of the hosts themselves",
            off=True,
        ),
    ] = ()
    session_idle: Annotated[
        Seconds | None,
        Variable("SESSION_IDLE_SECONDS", SECONDS, "how long an unused session lives", off=True),
    ] = 1800.0
    max_sessions: Annotated[
        Count | None,
        Variable("MAX_SESSIONS", COUNT, "how many sessions the whole fleet holds", off=True),
    ] = 10_000
    max_listens: Annotated[
        Count | None,
        Variable("MAX_LISTEN_STREAMS", COUNT, "how many `subscriptions/listen` streams a process has open", off=True),
    ] = 1000
    max_processes: Annotated[
        Count | None,
        Variable(
            "MAX_PROCESSES",
            COUNT,
            "how many processes the fleet is meant to have, workers included; where more are alive, each says so",
            off=True,
        ),
    ] = None
    max_body: Annotated[
        Count | None,
        Variable("MAX_BODY_BYTES", COUNT, "how large a request may be", off=True),
    ] = 4 * 1024 * 1024
    max_line: Annotated[
        Count | None,
        Variable("MAX_LINE_BYTES", COUNT, "how large a message over stdio may be", off=True),
    ] = 4 * 1024 * 1024
    keepalive: Annotated[
        Seconds | None,
        Variable("KEEPALIVE_SECONDS", SECONDS, "how often a silent stream gets a comment", off=True),
    ] = 15.0
    lease: Annotated[
        Seconds,
        Variable("LEASE_SECONDS", SECONDS, "how long a silent process counts as alive"),
    ] = 7.5
    retention_entries: Annotated[
        Count,
        Variable("RETENTION_ENTRIES", COUNT, "how many messages of a stream can be replayed"),
    ] = 10_000
    retention: Annotated[
        Seconds,
        Variable("RETENTION_SECONDS", SECONDS, "how long a stream can be replayed"),
    ] = 3600.0
    sse_after: Annotated[
        Delay,
        Variable(
            "SSE_AFTER_MS",
            "a number of milliseconds from 0 to a year",
            "how long a call may run before its response becomes a stream",
            unit=0.001,
        ),
    ] = 0.25
    state_ttl: Annotated[
        Annotated[float, Meta(gt=0, le=86_400)],
        Variable(
            "STATE_TTL_SECONDS",
            "a number of seconds above 0 and at most a day",
            "how long a modern client may take to come back with answers",
        ),
    ] = 300.0
    key_encryption_key: Annotated[
        WrappingKey | None,
        Variable(
            "KEY_ENCRYPTION_KEY",
            "32 bytes in base64, such as `openssl rand -base64 32` prints",
            "what wraps the keys that the fleet keeps in Redis",
            secret=True,
        ),
    ] = field(default=None, repr=False)
    hold: Annotated[
        Delay,
        Variable("HOLD_SECONDS", DELAY, "how long results are kept while Redis is away"),
    ] = 60.0
    command: Annotated[
        Seconds,
        Variable("COMMAND_SECONDS", SECONDS, "how long one command to Redis may take"),
    ] = 0.8
    durability: Annotated[
        SettleOn | None,
        Variable("DURABILITY", "`fsync` or `replicas:N`", "what a promised write must have reached", off=True),
    ] = None
    json_response: Annotated[
        bool,
        Variable("JSON_RESPONSE", FLAG, "whether requests are answered with one JSON object and never with a stream"),
    ] = False
    sse: Annotated[
        bool,
        Variable("SSE", FLAG, "whether `/sse` and `/messages` serve clients of the oldest transport, HTTP with SSE"),
    ] = False
    stateless: Annotated[
        bool,
        Variable("STATELESS", FLAG, "whether legacy clients are served without sessions"),
    ] = False
    handshake: Annotated[
        Handshake | None,
        Variable("HANDSHAKE_VERSION", HANDSHAKES, "the only version that `initialize` agrees on, else the client's"),
    ] = None
    page_size: Annotated[
        Count | None,
        Variable("PAGE_SIZE", COUNT, "how many items a page of a list has", off=True),
    ] = None
    task_ttl: Annotated[
        Seconds,
        Variable("TASK_TTL_SECONDS", SECONDS, "how long a task and its result are kept, from its creation"),
    ] = 3600.0
    task_attempts: Annotated[
        Count,
        Variable("TASK_ATTEMPTS", COUNT, "how often a task is begun whose processes die, if its tool may run twice"),
    ] = 3
    task_concurrency: Annotated[
        Count,
        Variable("TASK_CONCURRENCY", COUNT, "how many tasks one process runs at once"),
    ] = 10
    task_queues: Annotated[
        tuple[Queue, ...],
        Variable(
            "TASK_QUEUES",
            "names of queues, separated by commas",
            "whose tasks it runs, the first one's first; by default all",
        ),
    ] = ()
    task_poll: Annotated[
        Seconds,
        Variable("TASK_POLL_SECONDS", SECONDS, "how often clients are told to ask for a task"),
    ] = 1.0
    max_tasks: Annotated[
        Count | None,
        Variable("MAX_TASKS", COUNT, "how many unfinished tasks the whole fleet holds", off=True),
    ] = 10_000
    max_tasks_each: Annotated[
        Count | None,
        Variable("MAX_TASKS_EACH", COUNT, "how many of them one principal may have", off=True),
    ] = 100
    log_format: Annotated[
        Literal["text", "json"],
        Variable("LOG_FORMAT", "`text` or `json`", "how each line of the log is written"),
    ] = "text"
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Variable("LOG_LEVEL", "`debug`, `info`, `warning` or `error`", "how severe our own words are that are logged"),
    ] = "info"
    audit: Annotated[
        bool,
        Variable(
            "AUDIT", FLAG, "whether the log has a line of each call, prompt and resource: for whom, and what came of it"
        ),
    ] = False
    drain_delay: Annotated[
        Delay,
        Variable("DRAIN_DELAY", DELAY, "how long a process that was told to stop still serves everything"),
    ] = 5.0
    drain: Annotated[
        Delay,
        Variable("DRAIN_SECONDS", DELAY, "how long running calls may then go on"),
    ] = 30.0

    def __post_init__(self) -> None:
        check(self)

    @property
    def handshake_revision(self) -> Revision | None:
        """What `handshake` names."""
        return None if self.handshake is None else find(self.handshake)

    @property
    def wrapping_key(self) -> bytes | None:
        """The 32 bytes that wrap the keys in Redis."""
        return None if self.key_encryption_key is None else b64decode(self.key_encryption_key)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every `MCPFLEET_*` variable, and the files that they name; an empty one counts as unset.

        Raises `SettingsError` that names each variable that is unknown or holds what is not allowed.
        """
        secrets = frozenset(variable.name for _, _, variable in variables(cls) if variable.secret)
        return cls(**read(cls, with_files(environ, secrets)))
