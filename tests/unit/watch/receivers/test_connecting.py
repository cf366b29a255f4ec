"""Whether receivers can be reached, before anything starts."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.errors import Unreachable
from plimsoll.watch.receivers.connecting import Place, check_reachable, places_of
from plimsoll.watch.receivers.settings import (
    AlertmanagerSettings,
    AppriseSettings,
    EmailSettings,
    PagerDutySettings,
    ReceiverSettings,
    SlackSettings,
    WebhookSettings,
)


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of this machine."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def open_port() -> Iterator[int]:
    """A port on which something listens that never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def hook(port: int, name: str = "ops") -> WebhookSettings:
    """A webhook on a port of this machine."""
    return WebhookSettings(name=name, url=f"http://127.0.0.1:{port}/path")


def test_who_listens_is_reached(open_port: int, closed_port: int):
    """Of a cluster of Alertmanagers one is enough."""
    urls = (f"http://127.0.0.1:{closed_port}", f"http://127.0.0.1:{open_port}")

    check_reachable([], {})
    check_reachable([hook(open_port), AlertmanagerSettings(name="am", urls=urls)], {})


def test_all_that_cannot_be_reached_are_named(open_port: int, closed_port: int):
    """One sentence with each of them, and how to start anyway."""
    with pytest.raises(Unreachable) as caught:
        check_reachable([hook(closed_port, "one"), hook(open_port), hook(closed_port, "two")], {})

    assert caught.value.message == (
        "unable to reach receiver 'one': connection refused; receiver 'two': connection refused"
    )
    assert "--start-anyway" in caught.value.hint


def test_no_address_is_shown(tmp_path: Path):
    """It may be a secret."""
    (tmp_path / "url").write_text("https://nowhere.invalid/secret")
    settings = WebhookSettings(name="ops", url_file=str(tmp_path / "url"))

    with pytest.raises(Unreachable) as caught:
        check_reachable([settings], {})

    assert "nowhere" not in caught.value.message + caught.value.hint


def test_tls_is_tried():
    """A server without TLS behind https is found."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5.0)
        settings = WebhookSettings(name="ops", url=f"https://127.0.0.1:{server.getsockname()[1]}/")

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(Unreachable, match="it does not answer with TLS"):
            check_reachable([settings], {})
        thread.join()


@pytest.mark.parametrize(
    ("settings", "host", "port", "is_tls"),
    [
        (SlackSettings(name="s", token_env="T", channel="C"), "slack.com", 443, True),
        (SlackSettings(name="s", webhook_url_env="U"), "hooks.example", 443, True),
        (PagerDutySettings(name="p", routing_key_env="K"), "events.pagerduty.com", 443, True),
        (EmailSettings(name="e", host="mx", sender="a@b.c", to=("d@e.f",)), "mx", 587, False),
        (EmailSettings(name="e", host="mx", security="tls", sender="a@b.c", to=("d@e.f",)), "mx", 465, True),
        (WebhookSettings(name="w", url="http://h:81/x"), "h", 81, False),
    ],
)
def test_each_kind_has_its_place(settings: ReceiverSettings, host: str, port: int, is_tls: bool):
    """Host, port and TLS as a delivery uses them."""
    found = places_of(settings, {"U": "https://hooks.example/x"})

    assert found == (Place(host=host, port=port, is_tls=is_tls),)


def test_only_the_library_knows_where_apprise_sends():
    """So it is not checked."""
    assert places_of(AppriseSettings(name="a", url_env="U"), {}) == ()


def test_a_proxy_is_reached_instead(monkeypatch: pytest.MonkeyPatch):
    """As deliveries do; except for this machine."""
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    settings = WebhookSettings(name="w", url="https://h/x")

    assert places_of(settings, {}) == (Place(host="proxy.example", port=3128, is_tls=False),)
    assert places_of(hook(81), {}) == (Place(host="127.0.0.1", port=81, is_tls=False),)
