"""A Redis that is reached over TLS, for clients; a test's own commands go past it, over its plain port."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.redis_server import RedisServer, free_port


@dataclass(frozen=True, slots=True)
class TlsRedis:
    """A server with a certificate for 127.0.0.1 that nobody trusts who is not told to."""

    server: RedisServer
    port: int
    certificate: str

    def url(self, user: str = "", *, trusted: bool = True) -> str:
        """Where clients find it, as a user such as `name:password@`, and whether they trust it."""
        trust = f"?ssl_ca_certs={self.certificate}" if trusted else ""
        return f"rediss://{user}127.0.0.1:{self.port}/0{trust}"


@pytest.fixture
def tls_redis(launch_redis: Callable[..., RedisServer], tmp_path: Path) -> TlsRedis:
    """A running Redis of the test's own; without TLS in the server, or openssl, the test is skipped."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, *subject]
    subprocess.run(command, check=True, capture_output=True)
    port = free_port()
    files = ("--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", certificate)
    try:
        server = launch_redis("--tls-port", str(port), *files, "--tls-auth-clients", "no")
    except RuntimeError:
        pytest.skip("this server was built without TLS")
    return TlsRedis(server, port, certificate)
