"""What authors write to: named collections of functions, which know nothing of processes or transports."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack, overload

from mcpfleet.errors import RegistrationError
from mcpfleet.protocol.messages.content import Icon
from mcpfleet.protocol.messages.lifecycle import DiscoverResult, Implementation, InitializeResult
from mcpfleet.protocol.revisions import Revision, spoken
from mcpfleet.protocol.wire import CACHEABLE, CacheHint
from mcpfleet.server import skillfolder
from mcpfleet.server.capabilities import Extensions, capabilities, checked_extensions
from mcpfleet.server.completion import Of, compile_completer
from mcpfleet.server.context import Context
from mcpfleet.server.definitions import checked_definition
from mcpfleet.server.dynamic import compile_lister, compile_reader
from mcpfleet.server.failures import Reporter, checked_reporter
from mcpfleet.server.hooks import Hooks, compile_hook
from mcpfleet.server.lifespan import Lifespan, checked_lifespan
from mcpfleet.server.method import compile_method
from mcpfleet.server.notification import compile_notification
from mcpfleet.server.options import PromptOptions, ResourceOptions, ToolOptions
from mcpfleet.server.permission import MayWatch
from mcpfleet.server.prompt import Prompt, compile_prompt
from mcpfleet.server.registry import Registry
from mcpfleet.server.resource import ServedResource, ServedTemplate, compile_resource
from mcpfleet.server.rootschange import RootsHook
from mcpfleet.server.skill import compile_skills
from mcpfleet.server.tool import Tool, compile_tool

Function = TypeVar("Function", bound=Callable[..., Any])
Hook = TypeVar("Hook", bound=MayWatch)
Heard = TypeVar("Heard", bound=RootsHook)
Reported = TypeVar("Reported", bound=Reporter)

FRESH: Final = CacheHint()
"""Nothing is to be kept, let alone for others."""


class Server:
    """An MCP server: its name, its instructions for models, its tools, prompts and resources."""

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Icon] | None = None,
        tools: Iterable[Callable[..., Any] | Tool] = (),
        prompts: Iterable[Callable[..., Any] | Prompt] = (),
        resources: Iterable[Callable[..., Any] | ServedResource | ServedTemplate] = (),
        cache: CacheHint | Mapping[str, CacheHint] = FRESH,
        extensions: Extensions | None = None,
        switchable: bool = False,
        single_use_state: bool = False,
        input_required_legacy_shim: bool = True,
        lifespan: Lifespan | None = None,
    ) -> None:
        """`name` and `version` are what clients are told; `instructions` tell a model how to use the server.

        `tools`, `prompts` and `resources` are functions, classes or instances, as the decorators of these names take
        them bare; a resource is one that says its `uri`.

        `cache` is how long what the server says stays fresh, and for whom: one hint for everything, or one a method
        (`{"tools/list": CacheHint(ttl=60, scope="public")}`). By default nothing is to be kept.
        `extensions` are declared to every client: settings by identifier (`com.example/feature`).

        What a `switchable` server offers can be disabled and enabled while it serves (`Fleet.disable`): each list it is
        asked for then costs one look into the store.

        With `single_use_state` each `requestState` is accepted once only, on whatever process: a client that loses the
        response to a retry must begin again. For legacy clients an `InputRequiredResult` is fulfilled by real requests,
        unless `input_required_legacy_shim` is False: then it is refused.

        `lifespan` is an asynchronous generator with one `yield`, or returns an asynchronous context manager. It takes
        the server, is entered in each process before that serves anything, and left when all calls have ended; what it
        yields is `Context.lifespan`.
        """
        info = Implementation(
            name=name,
            version=version,
            title=title,
            description=description,
            website_url=website_url,
            icons=None if icons is None else tuple(icons),
        )
        self.info = checked_definition(info, "the server")
        if not name:
            raise RegistrationError("a server needs a name")
        self.instructions = instructions
        self.single_use_state = single_use_state
        self.input_required_legacy_shim = input_required_legacy_shim
        self.registry = Registry()
        self.switchable = switchable
        self.roots_hook: RootsHook | None = None
        """What is called when a legacy client says that its roots have changed."""
        self.watch_hook: MayWatch | None = None
        """What decides on who may watch what; None: everybody may watch everything."""
        self.lifespans = [] if lifespan is None else [checked_lifespan(lifespan)]
        """What each process enters before it serves, in order."""
        self.reporter: Reporter | None = None
        """What is told of each failure that is no client's fault."""
        self.hooks = Hooks()
        """What is around the messages of clients."""
        self._cache = _checked_hints(cache)
        self._extensions = checked_extensions(extensions or {})
        for tool in tools:
            self.add_tool(tool if isinstance(tool, Tool) else compile_tool(tool, context_type=Context))
        for prompt in prompts:
            self.add_prompt(prompt if isinstance(prompt, Prompt) else compile_prompt(prompt, context_type=Context))
        for resource in resources:
            if isinstance(resource, ServedResource | ServedTemplate):
                self.add_resource(resource)
            else:
                self._register_resource(resource, {})

    @property
    def name(self) -> str:
        """What clients are told the server is called."""
        return self.info.name

    @overload
    def tool(self, function: Function, /) -> Function: ...

    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[Function], Function]: ...

    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function as a tool, and return it unchanged; bare, or with options in parentheses.

        Name, description, input and output schema come from the function's name, docstring and type hints where no
        option gives them; a parameter annotated `Context` receives the request. `timeout` is in seconds. Raises
        `RegistrationError` for what could not be served.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add_tool(compile_tool(function, context_type=Context, **options))
            return function

        return register if function is None else register(function)

    def add_tool(self, tool: Tool, /) -> None:
        """Register a compiled tool; `RegistrationError` if its name is taken."""
        self.registry.tools.add(tool)

    @overload
    def prompt(self, function: Function, /) -> Function: ...

    @overload
    def prompt(self, /, **options: Unpack[PromptOptions]) -> Callable[[Function], Function]: ...

    def prompt(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Register a function as a prompt, and return it unchanged; bare, or with options in parentheses.

        Its arguments come from the parameters: clients send strings, and they are converted. It returns what the
        conversation begins with: text or a content block, which the user says, a `PromptMessage`, or a list of them.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add_prompt(compile_prompt(function, context_type=Context, **options))
            return function

        return register if function is None else register(function)

    def add_prompt(self, prompt: Prompt, /) -> None:
        """Register a compiled prompt; `RegistrationError` if its name is taken."""
        self.registry.prompts.add(prompt)

    @overload
    def resource(self, uri: str, /, **options: Unpack[ResourceOptions]) -> Callable[[Function], Function]: ...

    @overload
    def resource(self, function: Function, /) -> Function: ...

    def resource(self, uri: Any, /, **options: Any) -> Any:
        """Register a function as what is at a URI, and return it unchanged.

        A URI with braces is a template (RFC 6570, level 1): `users://{user_id}/profile` is read by a function with a
        parameter `user_id`. A parameter `uri` takes the whole. A class or an instance may say its `uri` itself. It
        returns text, bytes, a `Path` to read, `ResourceContents` or a list of these; None, if nothing is there; any
        other value is sent as JSON.
        """
        if not isinstance(uri, str):
            return self._register_resource(uri, options)
        return lambda function: self._register_resource(function, {**options, "uri": uri})

    def _register_resource(self, function: Any, options: Mapping[str, Any]) -> Any:
        self.add_resource(compile_resource(function, context_type=Context, **options))
        return function

    def add_resource(self, resource: ServedResource | ServedTemplate, /) -> None:
        """Register a compiled resource or template; `RegistrationError` if its URI is taken."""
        if isinstance(resource, ServedResource):
            self.registry.resources.add(resource)
        else:
            self.registry.templates.add(resource)

    @overload
    def list_resources(self, function: Function, /) -> Function: ...

    @overload
    def list_resources(self, /, *, timeout: float | None = None) -> Callable[[Function], Function]: ...

    def list_resources(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Let a function list resources and templates that come and go: it returns `Resource`s, `ResourceTemplate`s.

        They are listed after the registered ones, and read as any URI is. `timeout` is in seconds.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.registry.listers.add(compile_lister(function, context_type=Context, **options))
            return function

        return register if function is None else register(function)

    @overload
    def read_resource(self, function: Function, /) -> Function: ...

    @overload
    def read_resource(
        self,
        /,
        *,
        mime_type: str | None = None,
        timeout: float | None = None,
        cache: CacheHint | None = None,
    ) -> Callable[[Function], Function]: ...

    def read_resource(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Let a function read every URI that no registered resource or template has; None: nothing is there.

        It takes the `uri`. Options are as of `resource`.
        """

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.registry.readers.add(compile_reader(function, context_type=Context, **options))
            return function

        return register if function is None else register(function)

    def add_skills(self, folder: str | PathLike[str], /, *, prefix: str = "") -> None:
        """Serve every skill in a folder, or the one that the folder is: each directory with a `SKILL.md`, at any depth.

        All files are read now, but for hidden ones, and served so as long as the process lives. The URI of a skill is
        its path in the folder, after the `prefix`: `skill://acme/billing/refunds/SKILL.md`. Raises `RegistrationError`,
        with none of them added, for what a host would not take.
        """
        self.registry.add_skills(compile_skills(skillfolder.read(Path(folder)), prefix))

    def completion(
        self, of: Of, name: str, /, *, argument: str | None = None, timeout: float | None = None
    ) -> Callable[[Function], Function]:
        """Register a function that suggests values for an argument of a registered prompt or template.

        `name` is the prompt's name or the template; without `argument` it is asked for every argument that has no
        function of its own. It may take `value`, what was typed so far, `arguments`, those given already, and
        `argument`, and returns strings, best first, of which clients get 100.
        """
        self._check_completed(of, name, argument)

        def register(function: Function) -> Function:
            completer = compile_completer(function, of, name, argument, timeout=timeout, context_type=Context)
            self.registry.completers.add(completer)
            return function

        return register

    def _check_completed(self, of: Of, name: str, argument: str | None) -> None:
        if of not in ("prompt", "resource"):
            raise RegistrationError(f"completions are of a 'prompt' or a 'resource', not of {of!r}")
        if of == "prompt":
            prompt = self.registry.prompts.get(name)
            known = None if prompt is None else [one.name for one in prompt.definition.arguments or ()]
        else:
            template = self.registry.templates.get(name)
            known = None if template is None else [*template.template.variables]
        if known is None:
            raise RegistrationError(f"completion of {of} {name!r}: register the {of} first")
        if argument is not None and argument not in known:
            raise RegistrationError(f"completion of {of} {name!r}: it has no argument {argument!r}")

    def method(self, name: str, /, *, timeout: float | None = None) -> Callable[[Function], Function]:
        """Register a function as a JSON-RPC method of its own, such as `acme/add`, for clients of either era.

        It takes the params as a tool takes its arguments, and returns an object, or whatever then stands in
        `{"result": …}`. `RegistrationError` for a name of the protocol's.
        """

        def register(function: Function) -> Function:
            self.registry.methods.add(compile_method(function, name, timeout=timeout, context_type=Context))
            return function

        return register

    @overload
    def around_request(self, function: Function, /) -> Function: ...

    @overload
    def around_request(self, method: str, target: str | None = None, /) -> Callable[[Function], Function]: ...

    def around_request(self, method: Any, target: str | None = None, /) -> Any:
        """Call this coroutine function around messages from clients, and return it unchanged; as a decorator.

        It takes an `Incoming` and `call_next`, and returns what `await call_next(request)` returns, or another result
        of the kind; what went wrong is raised from there. It may take a `Context`, and what `Depends` provides, too.
        Bare, it is around every message; in parentheses around those of a method, or for one `target` of it: a tool or
        prompt by its name, a resource by its URI. Hooks are registered outermost first, before the server is served.
        """
        if not isinstance(method, str):
            self.hooks.add(compile_hook(method, target=target, context_type=Context))
            return method

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self.hooks.add(compile_hook(function, method, target, context_type=Context))
            return function

        return register

    def notification(self, name: str, /, *, timeout: float | None = None) -> Callable[[Function], Function]:
        """Register a function for a notification of its own, such as `acme/moved`, from clients of either era.

        It takes the params as a tool takes its arguments. Nobody waits for it, and nobody is told what it raises, but
        the log; `timeout` is in seconds, 60 by default. `RegistrationError` for a name of the protocol's.
        """

        def register(function: Function) -> Function:
            heeding = compile_notification(function, name, timeout=timeout, context_type=Context)
            self.registry.notifications.add(heeding)
            return function

        return register

    def exception_reporter(self, reporter: Reported, /) -> Reported:
        """Tell this function of each exception that is no client's fault, and of which message it failed; a decorator.

        It takes the exception and what `Failed`, and runs in the background, one report after the other: what it raises
        is logged, and what takes longer than ten seconds is given up. `RegistrationError` if there is one already.
        """
        if self.reporter is not None:
            raise RegistrationError("another function is told already of exceptions")
        self.reporter = checked_reporter(reporter)
        return reporter

    def cache_hint(self, method: str) -> CacheHint:
        """How long a result of this method stays fresh, and for whom."""
        return self._cache.get(method, FRESH)

    def include(self, other: "Server", *, prefix: str = "") -> None:
        """Offer everything that the other server offers now, each name after the prefix; all of it, or nothing.

        Its hooks come with it, inside this server's, and are around what has come from it, and nothing else. Its
        lifespan is entered after this server's; several yield mappings, whose members are merged. What else a server
        has, such as who may watch what, is only that of the server that is served.
        """
        hooks = [hook.included(other.registry, prefix) for hook in other.hooks]
        if hooks:
            self.hooks.check_open()
        self.registry.include(other.registry, prefix)
        self.hooks.add(*hooks)
        self.lifespans += [each for each in other.lifespans if each not in self.lifespans]

    def may_watch(self, hook: Hook, /) -> Hook:
        """Let this function decide whether a principal may be told of changes of a topic; as a decorator.

        It is asked when a client begins to watch, and must be quick. `RegistrationError` if there is one already.
        """
        if self.watch_hook is not None:
            raise RegistrationError("another function decides already on who may watch what")
        self.watch_hook = hook
        return hook

    def on_roots_changed(self, hook: Heard, /) -> Heard:
        """Call this function when a legacy client says that its roots have changed; as a decorator.

        It takes a `Context`, on which nothing can be asked: the next request that asks for the roots gets the new ones.
        It must be quick. `RegistrationError` if there is one already.
        """
        if self.roots_hook is not None:
            raise RegistrationError("another function is called already when roots change")
        self.roots_hook = hook
        return hook

    def discovery(self, pin: Revision | None = None, *, tasks: bool = False) -> DiscoverResult:
        """What `server/discover` answers where this legacy revision is pinned, if one is (MCP: server/discover).

        `tasks`: whether calls become tasks here of the tools that let them.
        """
        return DiscoverResult(
            supported_versions=spoken(pin),
            capabilities=capabilities(self.registry, self._extensions, tasks=tasks),
            instructions=self.instructions,
        )

    def initialization(self, revision: Revision) -> InitializeResult:
        """What `initialize` answers in the agreed revision (MCP: basic/lifecycle)."""
        return InitializeResult(
            protocol_version=revision.date,
            capabilities=capabilities(self.registry, self._extensions),
            server_info=self.info,
            instructions=self.instructions,
        )


def _checked_hints(cache: CacheHint | Mapping[str, CacheHint]) -> Mapping[str, CacheHint]:
    """A hint a method; raises `RegistrationError` for a method whose results are not cacheable."""
    if isinstance(cache, CacheHint):
        return dict.fromkeys(CACHEABLE, cache)
    if not isinstance(cache, Mapping) or not all(isinstance(hint, CacheHint) for hint in cache.values()):
        raise RegistrationError("cache must be a CacheHint, or one for each of some methods")
    unknown = sorted(cache.keys() - CACHEABLE)
    if unknown:
        raise RegistrationError(f"cache: the results of {', '.join(unknown)} are not cacheable")
    return dict(cache)
