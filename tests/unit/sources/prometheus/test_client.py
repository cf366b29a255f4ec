"""A server that fails in every way: a clear outcome each time, and no secret in any of them."""

import socket
import threading

import pytest

from fixtures.prometheus.servers import Double, Wrong, error
from plimsoll.errors import AccessDenied, SourceError, Throttled, Unreachable
from plimsoll.sources.prometheus.answers import TooMuch
from plimsoll.sources.prometheus.client import Bounds, Client
from plimsoll.sources.prometheus.server import PrometheusServer, server_of

QUICK = Bounds(connect_s=1.0, read_s=0.2, answer_bytes_max=100_000)
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


@pytest.mark.parametrize(
    ("status", "kind", "cause"),
    [
        (429, Throttled, "throttles requests"),
        (502, Unreachable, "not available (502)"),
        (503, Unreachable, "not available (503)"),
        (504, Unreachable, "not available (504)"),
    ],
)
def test_three_tries_are_enough(status, kind, cause):
    with Double(wrong=[error(status, "too busy")] * 9) as double, pytest.raises(kind) as raised:
        asked(double)

    assert cause in raised.value.message
    assert "too busy" in raised.value.message
    assert 3 == len(double.requests)


@pytest.mark.parametrize(
    ("wrong", "kind", "cause", "hint"),
    [
        (error(500, "wal gone"), SourceError, "failed (500): wal gone", "log"),
        (error(401, "no org id"), AccessDenied, "(401): no org id", "X-Scope-OrgID"),
        (error(403, "forbidden"), AccessDenied, "(403)", "PLIMSOLL_PROM_TOKEN"),
        (Wrong(status=404, body=b"404 page not found"), SourceError, "(404)", "/prometheus"),
        (error(422, "unknown function"), SourceError, "accept the query (422)", "--match"),
        (error(400, "parse error"), SourceError, "(400): parse error", "--match"),
        (
            Wrong(status=302, headers={"Location": "https://sso.example/?k=1"}),
            SourceError,
            "redirects elsewhere (302)",
            "final address",
        ),
        (Wrong(body=b"<html>Log in</html>", headers={"Content-Type": "text/html"}), SourceError, "a web page", "login"),
        (Wrong(body=b'{"status":"success","data":[{"a":'), SourceError, "cut off", "address"),
        (Wrong(body=b"null"), SourceError, "not JSON", "address"),
        (Wrong(body=b""), SourceError, "not JSON", "address"),
        (Wrong(body=b"\xff\xfe\x00"), SourceError, "not JSON", "address"),
        (Wrong(body=b'{"status":"error","error":"boom"}'), SourceError, "boom", "state"),
    ],
)
def test_what_does_not_pass_is_said_at_once(wrong, kind, cause, hint):
    """One request, one sentence with the cause, one with the remedy."""
    with Double(wrong=[wrong] * 3) as double, pytest.raises(kind) as raised:
        asked(double)

    assert cause in raised.value.message
    assert hint in raised.value.hint + raised.value.message
    assert 1 == len(double.requests)


def test_a_broken_connection_is_tried_again_and_then_said():
    """An answer that ends before its announced length is no answer."""
    cut = Wrong(body=b'{"status":"success","data":[]}', claimed_length=5000)
    with Double(wrong=[cut]) as double:
        assert b"[]" == bytes(asked(double).data)
    with Double(wrong=[cut] * 3) as double, pytest.raises(Unreachable, match="closed the connection during"):
        asked(double)

    assert 3 == len(double.requests)


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
    giant = Wrong(body=b'{"status":"success","data":"' + b"x" * 200_000)
    with Double(wrong=[giant]) as double, pytest.raises(TooMuch, match="100,000 bytes"):
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


def test_nobody_there_is_said_in_one_sentence():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can have this port
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with Client(server(url), QUICK) as client, pytest.raises(Unreachable) as raised:
            client.ask(SERIES, ASKED)

    assert f"unable to reach {url}: connection refused" == raised.value.message


def test_an_unsafe_connection_is_not_made():
    """https to a server that speaks http is told from a server that is not there."""
    patient = Bounds(connect_s=2, read_s=2)
    with (
        Double() as double,
        Client(server(double.url.replace("http", "https")), patient) as client,
        pytest.raises(Unreachable, match="no TLS connection"),
    ):
        client.ask(SERIES, ASKED)


def test_credentials_and_headers_are_sent_and_shown_nowhere():
    """A server that repeats them in its refusal does not make them known."""
    found = "Bearer s3cret-token of tenant-7 by hunter2"
    cases = [
        (server("http://h", PLIMSOLL_PROM_TOKEN="s3cret-token"), "Bearer s3cret-token"),
        (server("http://ann:hunter2@h"), "Basic YW5uOmh1bnRlcjI="),
    ]
    for credentials, expected in cases:
        with Double(wrong=[error(403, found)]) as double:
            place = server_of(
                double.url.replace("//", f"//{credentials.user}:{credentials.password}@")
                if credentials.user
                else double.url,
                match=(),
                headers=["X-Scope-OrgID: tenant-7"],
                environment={"PLIMSOLL_PROM_TOKEN": credentials.token or ""},
            )
            with Client(place, QUICK) as client, pytest.raises(AccessDenied) as raised:
                client.ask(SERIES, ASKED)

        assert expected == double.requests[0].headers["authorization"]
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
