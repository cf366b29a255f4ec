"""Certificates of an authority that only the environment names, on this machine as elsewhere."""

import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from fixtures.prometheus.servers import Double, Wrong
from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.sources.prometheus.client import Bounds, Client
from plimsoll.sources.prometheus.server import server_of

BOUNDS = Bounds(connect_s=2, read_s=2)
SERIES = "/api/v1/series"
ASKED = (("match[]", '{__name__=~"x"}'), ("start", "1"), ("end", "2"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of `localhost`, signed by itself."""
    return signed_by_itself(tmp_path_factory.mktemp("tls"))


class _Empty(BaseHTTPRequestHandler):
    """A server without series."""

    def do_GET(self) -> None:
        body = b'{"status":"success","data":[]}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url(certificate: Path) -> Iterator[str]:
    """The address of a server on this machine that speaks https."""
    served = HTTPServer(("127.0.0.1", 0), _Empty)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    served.socket = context.wrap_socket(served.socket, server_side=True)
    threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://localhost:{served.server_port}"
    served.shutdown()
    served.server_close()


def asked(url: str):
    """The answer of a server."""
    with Client(server_of(url, match=(), headers=(), environment={}), BOUNDS) as client:
        return client.ask(SERIES, ASKED)


def test_an_authority_of_the_environment_holds_on_loopback(url, certificate, monkeypatch):
    """A forwarded port keeps its server's certificate; proxies stay out all the same."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    assert b"[]" == bytes(asked(url).data)


def test_without_it_the_connection_is_not_made(url, monkeypatch):
    """The hint names the variable."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with pytest.raises(Unreachable, match="no TLS connection") as caught:
        asked(url)

    assert "SSL_CERT_FILE" in caught.value.hint


def test_a_file_of_certificates_that_is_none_is_said(url, tmp_path, monkeypatch):
    """It is not the server's fault."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="SSL_CERT_FILE cannot be read: no such file"):
        asked(url)


@pytest.mark.parametrize(
    "body",
    [
        b"Client sent an HTTP request to an HTTPS server.\n",
        b"<html><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</html>",
    ],
)
def test_http_to_a_port_of_https_is_told_so(body):
    """It has nothing to do with the query."""
    with Double(wrong=[Wrong(status=400, body=body)]) as double, pytest.raises(SourceError) as found:
        asked(double.url)

    assert f"{double.url} uses https, but the request was sent by http" == found.value.message
    assert f"prom:https{double.url.removeprefix('http')}" in found.value.hint
