"""Requests are bounded, follow no redirect, check certificates, and no error contains an address."""

import logging
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from fixtures.receivers.doubles import Given, Recorder
from plimsoll.errors import SourceError, Unreachable
from plimsoll.watch.receivers import web
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.web import WebReceiver

PLANTED = "planted-part-of-an-address"


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as running:
        yield running


def sent(url: str, **arguments) -> None:
    receiver = WebReceiver("team", [Secret(PLANTED)], **arguments)
    receiver.delivered(receiver.post(f"{url}/{PLANTED}", b"{}", {}))


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (Given(302, b"", {"Location": "https://elsewhere"}), RefusedError, "redirect (HTTP 302)"),
        (Given(400, b"invalid_payload"), RefusedError, "(HTTP 400: invalid_payload)"),
        (Given(403, f"no {PLANTED}".encode()), RefusedError, "refused the message (HTTP 403)"),
        (Given(404, b"<html>Not found</html>"), RefusedError, "refused the message (HTTP 404)"),
        (Given(408, b""), SourceError, "failed (HTTP 408)"),
        (Given(429, b"", {"Retry-After": "17"}), BusyReceiver, "asks to wait 17 s"),
        (Given(429, b""), BusyReceiver, "takes no more messages now"),
        (Given(500, b"\x1b[31moh\r\nno"), SourceError, "failed (HTTP 500: [31moh no)"),
        (Given(503, b"", {"Retry-After": "5"}), BusyReceiver, "asks to wait 5 s"),
        (Given(200, b"x" * 300_000), SourceError, "more than 262,144 bytes"),
    ],
)
def test_an_answer_becomes_one_sentence(recorder, answer, kind, sentence):
    """4xx will not work later, 5xx may, 429 says when; the address is in none of the sentences."""
    recorder.first.append(answer)
    with pytest.raises(SourceError) as found:
        sent(recorder.url)

    assert kind is type(found.value)
    assert sentence in found.value.message
    assert "receiver 'team'" in found.value.message
    assert PLANTED not in found.value.message + found.value.hint
    assert 1 == len(recorder.sent)


@pytest.mark.parametrize(
    ("header", "wait_s"),
    [
        ("30", 30),
        ("999999", 3_600),
        ("Sun, 22 Nov 2026 10:14:45 GMT", 45),
        ("Sun, 22 Nov 2020 10:14:45 GMT", 0),
        ("soon", 0),
        ("-5", 0),
    ],
)
def test_retry_after_is_a_number_or_a_date(recorder, header, wait_s):
    """The error carries the seconds to wait, an hour at most."""
    recorder.first.append(Given(429, b"", {"Retry-After": header}))
    with pytest.raises(BusyReceiver) as found:
        sent(recorder.url, now=lambda: 1_795_342_440.0)

    assert wait_s == found.value.wait_s


def test_a_refused_connection_is_one_sentence():
    """Nothing listens: the reason is named, the address is not."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Unreachable) as found:
            sent(url)

    assert "unable to reach receiver 'team': connection refused" == found.value.message


def test_a_silent_receiver_is_left(recorder, monkeypatch):
    """An answer has a deadline."""
    monkeypatch.setattr(web, "_READ_S", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(Unreachable, match=r"'team' did not answer in 0\.1 s"):
            sent(f"http://127.0.0.1:{silent.getsockname()[1]}")


def test_a_slow_answer_is_left(recorder):
    """The deadline is for the whole answer, however steadily its bytes come."""
    times = iter([0.0, 31.0])
    with pytest.raises(Unreachable, match=r"did not finish its answer in 30 s"):
        sent(recorder.url, clock=lambda: next(times))


def test_a_connection_that_breaks_is_one_sentence(recorder):
    """The answer ends before its length."""
    recorder.first.append(Given(200, b"short", {"Content-Length": "500"}))
    with pytest.raises(Unreachable, match="unable to reach receiver 'team'"):
        sent(recorder.url)


def test_a_certificate_of_nobody_is_refused(tmp_path: Path):
    """TLS is verified: a certificate that signs itself is not accepted, and nothing is sent."""
    reached = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reached.append(self.path)

    class Silent(HTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that leaves during the handshake is expected."""

    served = Silent(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed_by_itself(tmp_path))
    served.socket = context.wrap_socket(served.socket, server_side=True)
    threading.Thread(target=served.serve_forever, args=(0.02,), daemon=True).start()
    with pytest.raises(Unreachable) as found:
        sent(f"https://localhost:{served.server_port}")
    served.shutdown()
    served.server_close()

    assert found.value.message.startswith("no TLS connection to receiver 'team': ")
    assert PLANTED not in found.value.message
    assert [] == reached


def test_no_log_contains_an_address(recorder, caplog):
    """httpx logs each address at the level INFO, unless it is stopped."""
    caplog.set_level(logging.DEBUG)
    sent(recorder.url)

    assert PLANTED not in caplog.text


def test_the_search_for_secrets_knows_their_forms():
    """An answer that repeats a secret percent-encoded or in base64 is not shown."""
    receiver = WebReceiver("team", [Secret("a/b c=d")])

    assert ["", "", ""] == [receiver.said(b) for b in (b"a/b c=d", b"a%2Fb%20c%3Dd", b"YS9iIGM9ZA==")]
    assert "fine" == receiver.said(b"fine")
