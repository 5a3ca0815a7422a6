"""The proxies that Ingress controllers run, set up as the chart's annotations make the controllers set them up.

What a pod has answered is marked by a header, as clients of a run expect it of their balancer.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

import httpx2
import pytest

from mcpfleet_service.tether import tethered
from tests.balancer import PIN
from tests.redis_server import free_port

Annotations = Mapping[str, str]
START_SECONDS: Final = 10.0


def program(name: str) -> str:
    """Where a proxy is installed; without it the test is skipped, and fails where it must be there."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if found is not None:
        return found
    reason = f"THE ROLLING DEPLOY WAS NOT REHEARSED, since {name} is not installed"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class Proxy(Protocol):
    """A proxy before pods that come and go."""

    @property
    def url(self) -> str:
        """Where clients find it."""
        ...

    def route(self, pods: Mapping[str, str]) -> None:
        """Send new requests to these pods alone, by name and URL; those under way go on."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class Nginx:
    """nginx, which is told of other pods by a reload: its old processes serve what they have begun."""

    def __init__(self, directory: Path, annotations: Annotations) -> None:
        self._directory = directory
        self._port = free_port()
        self._settings = {
            name.removeprefix("nginx.ingress.kubernetes.io/"): value for name, value in annotations.items()
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._generation = 0

    @property
    def url(self) -> str:
        """See `Proxy.url`."""
        return f"http://127.0.0.1:{self._port}"

    def route(self, pods: Mapping[str, str]) -> None:
        """See `Proxy.route`."""
        self._generation += 1
        (self._directory / "nginx.conf").write_text(self._configuration(pods))
        if self._process is not None:
            done = subprocess.run([*self._command(), "-s", "reload"], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            self._await_generation()

    def _await_generation(self) -> None:
        """Return once new requests are served as it was told last."""
        deadline = time.monotonic() + START_SECONDS
        with httpx2.Client(trust_env=False, timeout=START_SECONDS) as http:
            while http.get(f"{self.url}/generation", headers={"Connection": "close"}).text != str(self._generation):
                assert time.monotonic() < deadline, "the proxy takes no notice"
                time.sleep(0.01)

    def _command(self) -> list[str]:
        return [program("nginx"), "-p", str(self._directory), "-c", str(self._directory / "nginx.conf")]

    def _configuration(self, pods: Mapping[str, str]) -> str:
        servers = "".join(f"server {urlsplit(url).netloc} max_fails=0; " for url in pods.values())
        told = self._settings
        return (
            f"pid {self._directory}/nginx.pid; error_log {self._directory}/nginx.log warn; daemon off; user root;\n"
            "worker_processes 1; events { worker_connections 4096; }\n"
            f"http {{ access_log off; {_nginx_paths(self._directory)}\n"
            'map $upstream_header_time $of_pod { default 0; "-" ""; "" ""; }\n'
            f"upstream fleet {{ {servers or 'server 127.0.0.1:1; '}keepalive 64; }}\n"
            f"server {{ listen 127.0.0.1:{self._port}; client_max_body_size {told['proxy-body-size']};\n"
            f"location = /generation {{ return 200 '{self._generation}'; }}\n"
            "location / { proxy_pass http://fleet; proxy_set_header Host $http_host; proxy_set_header Connection '';\n"
            f"add_header {PIN} $of_pod always;\n"
            f"proxy_http_version {told['proxy-http-version']}; proxy_buffering {told['proxy-buffering']};\n"
            f"proxy_request_buffering {told['proxy-request-buffering']};\n"
            f"proxy_next_upstream {told['proxy-next-upstream']};\n"
            f"proxy_read_timeout {told['proxy-read-timeout']}s;\n"
            f"proxy_send_timeout {told['proxy-send-timeout']}s; }} }} }}\n"
        )

    def __enter__(self) -> Self:
        self.route({})
        with (self._directory / "nginx.out").open("wb") as log:
            self._process = subprocess.Popen(tethered(self._command()), stdout=log, stderr=log)
        _await_listening(self._port)
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._process)


class Haproxy:
    """HAProxy, which is told of other pods by its runtime interface, in places that are kept for them."""

    PLACES: Final = 8

    def __init__(self, directory: Path, annotations: Annotations) -> None:
        self._directory = directory
        self._port = free_port()
        self._settings = {name.removeprefix("haproxy.org/"): value for name, value in annotations.items()}
        self._places: list[str | None] = [None] * self.PLACES
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """See `Proxy.url`."""
        return f"http://127.0.0.1:{self._port}"

    def route(self, pods: Mapping[str, str]) -> None:
        """See `Proxy.route`."""
        for place, name in enumerate(self._places):
            if name is not None and name not in pods:
                self._say(f"set server fleet/p{place} state maint")
                self._places[place] = None
        for name, url in pods.items():
            if name not in self._places:
                place = self._places.index(None)
                host, _, port = urlsplit(url).netloc.partition(":")
                self._say(f"set server fleet/p{place} addr {host} port {port}")
                self._say(f"set server fleet/p{place} state ready")
                self._places[place] = name

    def _say(self, words: str) -> None:
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(START_SECONDS)
            control.connect(str(self._directory / "control"))
            control.sendall(f"{words}\n".encode())
            said = control.recv(65536).decode().strip()
        assert not re.search(r"No such|Unknown|rror", said), said

    def _configuration(self) -> str:
        told = self._settings
        places = "".join(f"  server p{place} 127.0.0.1:1 disabled\n" for place in range(self.PLACES))
        snippet = "".join(f"  {line}\n" for line in told["backend-config-snippet"].splitlines())
        return (
            f"global\n  stats socket {self._directory}/control level admin\n"
            "defaults\n  mode http\n  timeout connect 5s\n  timeout http-keep-alive 60s\n  option redispatch\n"
            f"frontend clients\n  bind 127.0.0.1:{self._port}\n  timeout client {told['timeout-client']}\n"
            "  default_backend fleet\n"
            f"backend fleet\n  balance roundrobin\n  http-response set-header {PIN} 0\n"
            f"  timeout server {told['timeout-server']}\n{snippet}{places}"
        )

    def __enter__(self) -> Self:
        (self._directory / "haproxy.cfg").write_text(self._configuration())
        command = [program("haproxy"), "-db", "-f", str(self._directory / "haproxy.cfg")]
        with (self._directory / "haproxy.log").open("wb") as log:
            self._process = subprocess.Popen(tethered(command), stdout=log, stderr=log)
        _await_listening(self._port)
        return self

    def __exit__(self, *_: object) -> None:
        _end(self._process)


def _nginx_paths(directory: Path) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return " ".join(f"{kind}_temp_path {directory}/{kind};" for kind in kinds)


def _await_listening(port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "the proxy does not start"
        time.sleep(0.02)


def _end(process: "subprocess.Popen[bytes] | None") -> None:
    if process is not None:
        process.terminate()
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
