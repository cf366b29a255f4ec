"""A server that fails in every way: a clear outcome each time, and no secret in any of them."""

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from fixtures.prometheus.servers import Double, Wrong, error
from plimsoll.errors import AccessDenied, SourceError, Throttled, Unreachable, UsageError
from plimsoll.sources.prometheus.client import Bounds, Client, TooMuch, reason_of, refusal
from plimsoll.sources.prometheus.server import PrometheusServer, server_of

QUICK = Bounds(connect_s=1.0, read_s=0.2, answer_bytes_max=1_000_000)
SERIES = "/api/v1/series"
ASKED = (("match[]", '{__name__=~"x"}'), ("start", "1"), ("end", "2"))


class Waits(list):
    """Stands for `sleep`: what was waited, without waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def server(url: str, **environment: str) -> PrometheusServer:
    return server_of(url, match=(), headers=(), environment=environment)


def asked(double: Double, waits: Waits | None = None, bounds: Bounds = QUICK):
    with Client(server(double.url), bounds, sleep=Waits() if waits is None else waits) as client:
        return client.ask(SERIES, ASKED)


@pytest.mark.parametrize(
    ("wrong", "waited_s"),
    [
        *(([Wrong(status=status)] * 2, [0.5, 1.0]) for status in (429, 502, 503, 504)),
        # An answer that ends before its announced length is no answer.
        ([Wrong(body=b'{"status":"success","data":[]}', claimed_length=5000)] * 2, [0.5, 1.0]),
        # Up to ten seconds: in an incident nobody waits for an hour.
        ([error(429, "slow", **{"Retry-After": s}) for s in ("4", "3600")], [4.0, 10.0]),
    ],
)
def test_what_passes_is_tried_again(wrong, waited_s):
    """The third try succeeds, after waits that double, or that the server asked for."""
    waits = Waits()
    with Double(wrong=wrong) as double:
        assert b"[]" == bytes(asked(double, waits).data)

    assert waited_s == waits
    assert 3 == len(double.requests)


DEEP = b"[" * 500_000


@pytest.mark.parametrize(
    ("wrong", "kind", "cause", "hint", "tries"),
    [
        (error(429, "too busy"), Throttled, "throttles requests (429): too busy", "shorter window", 3),
        *(
            (error(status, "too busy"), Unreachable, f"not available ({status}): too busy", "proxy", 3)
            for status in (502, 503, 504)
        ),
        (Wrong(body=b'{"status":"success","data":[]}', claimed_length=5000), Unreachable, "closed the con", "proxy", 3),
        (error(500, "wal gone"), SourceError, "failed (500): wal gone", "log", 1),
        (error(401, "no org id"), AccessDenied, "(401): no org id", "X-Scope-OrgID", 1),
        (error(403, "forbidden"), AccessDenied, "(403)", "PLIMSOLL_PROM_TOKEN", 1),
        (Wrong(status=404, body=b"404 page not found"), SourceError, "(404)", "/prometheus", 1),
        (error(422, "unknown function"), SourceError, "accept the query (422)", "--match", 1),
        (error(400, "parse error"), SourceError, "(400): parse error", "--match", 1),
        (
            Wrong(status=302, headers={"Location": "https://sso.example/?k=1"}),
            SourceError,
            "elsewhere (302)",
            "final",
            1,
        ),
        (
            Wrong(body=b"<html>Log in</html>", headers={"Content-Type": "text/html"}),
            SourceError,
            "a web page",
            "login",
            1,
        ),
        (Wrong(body=b'{"status":"success","data":[{"a":'), SourceError, "cut off", "address", 1),
        (Wrong(body=b"null"), SourceError, "not JSON", "address", 1),
        (Wrong(body=b""), SourceError, "not JSON", "address", 1),
        (Wrong(body=b"\xff\xfe\x00"), SourceError, "not JSON", "address", 1),
        (Wrong(body=b'{"status":"error","error":"boom"}'), SourceError, "boom", "state", 1),
        # Half a million brackets are not JSON that a Prometheus would send.
        *(
            (Wrong(body=body), SourceError, "not JSON", "address", 1)
            for body in (DEEP, b'{"status":"success","data":' + DEEP, b'{"status":' + DEEP, b'{"status":"\xff"}')
        ),
    ],
)
def test_what_does_not_pass_is_said(wrong, kind, cause, hint, tries):
    """One request, or three of what may pass; one sentence with the cause, one with the remedy."""
    with Double(wrong=[wrong] * 3) as double, pytest.raises(kind) as raised:
        asked(double)

    assert cause in raised.value.message
    assert hint in raised.value.hint + raised.value.message
    assert tries == len(double.requests)


def test_amazon_that_refuses_names_the_permissions():
    """No token of ours would help there."""
    place = server("https://aps-workspaces.eu-west-1.amazonaws.com/workspaces/ws-1")
    refused = refusal(403, b"", place)

    assert isinstance(refused, AccessDenied)
    assert "Allow aps:QueryMetrics" in refused.hint


def test_a_slow_server_is_not_waited_for():
    """Silence has an end, and it is not tried thrice: three times half a minute helps nobody."""
    done = threading.Event()
    try:
        with Double(wrong=[Wrong(held_until=done)] * 3) as double:
            with pytest.raises(Unreachable, match=r"did not answer in 0\.2 s"):
                asked(double)
            done.set()
    finally:
        done.set()

    assert 1 == len(double.requests)


def test_a_server_that_drips_is_left():
    """A whole answer has a deadline of its own, by the clock that was handed in."""
    moments = iter([0.0, 500.0, 1000.0])
    with (
        Double() as double,
        Client(server(double.url), clock=lambda: next(moments)) as client,
        pytest.raises(Unreachable, match="did not finish an answer in 120 s"),
    ):
        client.ask(SERIES, ASKED)


def test_a_giant_answer_is_not_kept():
    """It is broken off at the bound, whatever length it announces."""
    giant = Wrong(body=b'{"status":"success","data":"' + b"x" * 2_000_000)
    with Double(wrong=[giant]) as double, pytest.raises(TooMuch, match="1,000,000 bytes"):
        asked(double)


@pytest.mark.parametrize(
    "text",
    [
        "query processing would load too many samples into memory in query execution",
        "the query exceeded the maximum number of chunks",
        "cannot select more than -search.maxSamplesPerQuery=1; too many samples",
    ],
)
def test_a_limit_of_the_server_is_told_from_a_wrong_query(text):
    """Prometheus, Mimir and VictoriaMetrics say it with 422; then a smaller question helps."""
    with Double(wrong=[error(422, text)]) as double, pytest.raises(TooMuch):
        asked(double)


def test_a_refusal_that_nests_without_end_says_what_can_be_shown():
    """A broken reason is cut to a line."""
    assert len(reason_of(DEEP, server("http://localhost:9090"))) <= 200


def test_nobody_there_is_said_in_one_sentence():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can have this port
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with Client(server(url), QUICK) as client, pytest.raises(Unreachable) as raised:
            client.ask(SERIES, ASKED)

    assert f"unable to reach {url}: connection refused" == raised.value.message


@pytest.mark.parametrize(
    ("user", "token", "sent"),
    [("", "s3cret-token", "Bearer s3cret-token"), ("ann:hunter2@", "", "Basic YW5uOmh1bnRlcjI=")],
)
def test_credentials_and_headers_are_sent_and_shown_nowhere(user, token, sent):
    """A server that repeats them in its refusal does not make them known."""
    with Double(wrong=[error(403, "Bearer s3cret-token of tenant-7 by hunter2")]) as double:
        place = server_of(
            double.url.replace("//", f"//{user}"),
            match=(),
            headers=["X-Scope-OrgID: tenant-7"],
            environment={"PLIMSOLL_PROM_TOKEN": token},
        )
        with Client(place, QUICK) as client, pytest.raises(AccessDenied) as raised:
            client.ask(SERIES, ASKED)

    assert sent == double.requests[0].headers["authorization"]
    assert "tenant-7" == double.requests[0].headers["x-scope-orgid"]
    for secret in place.secrets:
        assert secret not in raised.value.message + raised.value.hint


def test_a_long_question_is_posted_and_a_short_one_is_not():
    """Some proxies let GET only through; some lines are too long for them."""
    with Double() as double, Client(server(double.url), QUICK) as client:
        client.ask(SERIES, ASKED)
        client.ask(SERIES, [*ASKED, ("match[]", '{__name__=~"' + "y" * 2000 + '"}')])

    assert ["GET", "POST"] == [r.method for r in double.requests]
    assert 2 == len(double.requests[1].parameters["match[]"])


def test_what_a_server_warns_of_is_kept():
    """An answer in part is an answer with a warning."""
    with Double() as double, Client(server(double.url), QUICK) as client:
        double.warnings = ["store 3 did not answer"]
        client.ask(SERIES, ASKED)
        double.wrong = [Wrong(body=b'{"status":"success","isPartial":true,"data":[]}')]
        client.ask(SERIES, ASKED)

        assert ["store 3 did not answer", "a storage node did not answer"] == list(client.warnings)


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


def asked_at(url: str):
    with Client(server(url), Bounds(connect_s=2, read_s=2)) as client:
        return client.ask(SERIES, ASKED)


def test_an_authority_of_the_environment_holds_on_loopback(url, certificate, monkeypatch):
    """A forwarded port keeps its server's certificate; proxies stay out all the same."""
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    assert b"[]" == bytes(asked_at(url).data)


def test_an_unsafe_connection_is_not_made(url, monkeypatch):
    """Neither without the authority nor to a server that speaks http; the hint names the variable."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with Double() as double:
        for place in (url, double.url.replace("http", "https")):
            with pytest.raises(Unreachable, match="no TLS connection") as caught:
                asked_at(place)

            assert "SSL_CERT_FILE" in caught.value.hint


def test_a_file_of_certificates_that_is_none_is_said(url, tmp_path, monkeypatch):
    """It is not the server's fault."""
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="SSL_CERT_FILE cannot be read: no such file"):
        asked_at(url)


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
        asked_at(double.url)

    assert f"{double.url} uses https, but the request was sent by http" == found.value.message
    assert f"prom:https{double.url.removeprefix('http')}" in found.value.hint
