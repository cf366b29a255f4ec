"""Who may ask the HTTP server, and a file that changes while it runs."""

import base64
import os
import socket
import ssl
import threading
from http import HTTPStatus
from pathlib import Path

import bcrypt
import pytest

from fixtures.certificates import signed_by_itself
from plimsoll.errors import UsageError
from plimsoll.watch.web_config import AccessByFile
from unit.watch.test_access_file import HASH, TLS, written

USERS = f"basic_auth_users:\n  prometheus: {HASH}\n"


def basic(name: str, password: str) -> str:
    """The header of a client."""
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def rewritten(path: Path, text: str) -> None:
    """Another file at the same place, as editors and secrets of Kubernetes do it."""
    other = path.with_suffix(".new")
    other.write_text(text)
    other.replace(path)


class Counted:
    """Counts how often bcrypt runs, and with which hash."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.digests: list[bytes] = []
        real = bcrypt.checkpw

        def check(password: bytes, digest: bytes) -> bool:
            self.digests.append(digest)
            return real(password, digest)

        monkeypatch.setattr(bcrypt, "checkpw", check)


def test_without_a_file_everybody_is_answered():
    """No TLS, no header, and nobody is asked for a password."""
    access = AccessByFile(None)

    assert (access.tls, dict(access.headers), access.user_count) == (None, {}, 0)
    assert access.refusal(None) is None


@pytest.mark.parametrize(
    ("header", "is_allowed"),
    [
        (basic("prometheus", "sesame"), True),
        (basic("prometheus", "sesame").replace("Basic", "bAsIc"), True),
        (basic("prometheus", "Sesame"), False),
        (basic("prometheus", ""), False),
        (basic("prometheus", "sesame\0"), False),
        (basic("prometheus", "x" * 10_000), False),
        (basic("grafana", "sesame"), False),
        (basic("", "sesame"), False),
        (None, False),
        ("", False),
        ("Basic", False),
        ("Basic %%%", False),
        ("Basic " + base64.b64encode(b"prometheus").decode(), False),
        ("Basic " + base64.b64encode(b"\xff:sesame").decode(), False),
        ("Bearer sesame", False),
        ("Basic ä", False),
    ],
)
def test_only_name_and_password_together_are_allowed(tmp_path: Path, header: str | None, is_allowed: bool):
    """Whatever else a client sends is a plain no, every time."""
    access = AccessByFile(written(tmp_path, USERS))

    assert [access.refusal(header) is None for _ in range(3)] == [is_allowed] * 3


def test_a_password_of_more_than_72_bytes_is_read_as_bcrypt_reads_it(tmp_path: Path):
    """htpasswd makes such hashes; what follows after 72 bytes does not count, and no request fails."""
    password = "x" * 80
    digest = bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(4)).decode()
    access = AccessByFile(written(tmp_path, f"basic_auth_users: {{long: {digest}}}"))

    assert access.refusal(basic("long", password)) is None
    assert access.refusal(basic("long", password[:71])) is HTTPStatus.UNAUTHORIZED


def test_a_name_that_is_unknown_costs_what_a_wrong_password_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One bcrypt each, of the cost of the costliest user."""
    costly = bcrypt.hashpw(b"x", bcrypt.gensalt(5)).decode()
    access = AccessByFile(written(tmp_path, f"{USERS}  other: {costly}\n"))
    counted = Counted(monkeypatch)

    access.refusal(basic("nobody", "sesame"))
    access.refusal(basic("other", "sesame"))

    assert [digest[4:6] for digest in counted.digests] == [b"05", b"05"]


def test_a_scrape_costs_one_bcrypt_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A right password is remembered, a wrong one never; a changed file forgets all."""
    path = written(tmp_path, USERS)
    access = AccessByFile(path)
    counted = Counted(monkeypatch)

    for _ in range(5):
        assert access.refusal(basic("prometheus", "sesame")) is None
    assert len(counted.digests) == 1
    for _ in range(3):
        assert access.refusal(basic("prometheus", "wrong")) is HTTPStatus.UNAUTHORIZED
    assert len(counted.digests) == 4

    other = bcrypt.hashpw(b"changed", bcrypt.gensalt(4)).decode()
    rewritten(path, f"basic_auth_users: {{prometheus: {other}}}")
    assert access.refusal(basic("prometheus", "sesame")) is HTTPStatus.UNAUTHORIZED
    assert access.refusal(basic("prometheus", "changed")) is None


def test_a_broken_file_keeps_the_old_one_and_is_said_once(tmp_path: Path):
    """Users stay as they were, until the file can be used again."""
    lines: list[dict[str, object]] = []
    path = written(tmp_path, USERS)
    access = AccessByFile(path, log=lambda event, **fields: lines.append({"event": event} | fields))

    rewritten(path, "basic_auth_users: {prometheus: sesame}")
    for _ in range(3):
        assert access.refusal(basic("prometheus", "sesame")) is None
    assert [line["event"] for line in lines] == ["web config not changed"]
    assert "is not a bcrypt hash" in str(lines[0]["error"])

    path.unlink()
    assert access.refusal(basic("prometheus", "sesame")) is None
    assert "no such file" in str(lines[1]["error"])

    rewritten(path, USERS + "http_server_config: {headers: {X-Frame-Options: deny}}")
    assert access.headers == {"X-Frame-Options": "deny"}
    assert lines[2] == {"event": "web config changed", "file": str(path), "users": 1}


@pytest.mark.parametrize(("before", "after"), [("", TLS), (TLS, "")])
def test_tls_is_not_switched_while_the_server_listens(tmp_path: Path, before: str, after: str):
    """The log says that a restart is needed; users of the old file stay."""
    lines: list[dict[str, object]] = []
    path = written(tmp_path, before + USERS)
    access = AccessByFile(path, log=lambda event, **fields: lines.append({"event": event} | fields))

    rewritten(path, after)

    assert access.refusal(None) is HTTPStatus.UNAUTHORIZED
    assert "Restart" in str(lines[0]["hint"])
    assert (access.tls is None) is (before == "")


def served(context: ssl.SSLContext) -> bytes:
    """The certificate that a client sees in one connection."""
    ours, theirs = socket.socketpair()
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE

    def serve() -> None:
        with context.wrap_socket(ours, server_side=True):
            pass

    thread = threading.Thread(target=serve)
    thread.start()
    with client.wrap_socket(theirs, server_hostname="localhost") as connection:
        found = connection.getpeercert(binary_form=True)
    thread.join()
    assert found is not None
    return found


def test_a_new_certificate_is_taken_over(tmp_path: Path):
    """The next connection gets it; while the key is not there yet, the old pair goes on."""
    access = AccessByFile(written(tmp_path, TLS))
    assert access.tls is not None
    first = served(access.tls)
    assert served(access.tls) == first

    pair = tmp_path / "localhost.pem"
    old = pair.read_text()
    pair.write_text("half of a file")
    assert served(access.tls) == first
    signed_by_itself(tmp_path)

    assert served(access.tls) != first
    assert pair.read_text() != old


def test_another_file_for_the_certificate_is_followed(tmp_path: Path):
    """A certificate that a changed file names is looked at as well."""
    path = written(tmp_path, TLS)
    access = AccessByFile(path)
    assert access.tls is not None
    first = served(access.tls)
    folder = tmp_path / "other"
    folder.mkdir()
    signed_by_itself(folder)
    rewritten(path, TLS.replace("localhost.pem", "other/localhost.pem"))
    second = served(access.tls)
    signed_by_itself(folder)
    third = served(access.tls)

    assert len({first, second, third}) == 3


def test_a_key_with_a_password_is_refused_and_nobody_is_asked(tmp_path: Path):
    """OpenSSL would wait at the terminal."""
    path = written(tmp_path, TLS)
    pair = tmp_path / "localhost.pem"
    key, _, certificate = pair.read_text().partition("-----BEGIN CERTIFICATE")
    from cryptography.hazmat.primitives import serialization

    loaded = serialization.load_pem_private_key(key.encode(), None)
    locked = loaded.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"secret")
    )
    pair.write_text(locked.decode() + "-----BEGIN CERTIFICATE" + certificate)

    with pytest.raises(UsageError, match="without a password"):
        AccessByFile(path)


def test_guesses_do_not_keep_others_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """While eight passwords are checked, a ninth is refused at once, and one that is known is let in at once."""
    access = AccessByFile(written(tmp_path, USERS))
    assert access.refusal(basic("prometheus", "sesame")) is None
    go_on = threading.Event()
    begun = threading.Semaphore(0)

    def check(_password: bytes, _digest: bytes) -> bool:
        begun.release()
        go_on.wait(10.0)
        return False

    monkeypatch.setattr(bcrypt, "checkpw", check)
    guesses = [threading.Thread(target=access.refusal, args=(basic("prometheus", str(n)),)) for n in range(8)]
    for guess in guesses:
        guess.start()
    assert begun.acquire(timeout=5.0)
    while access._waiting._value:
        os.sched_yield()
    try:
        assert access.refusal(basic("prometheus", "ninth")) is HTTPStatus.SERVICE_UNAVAILABLE
        assert access.refusal(basic("prometheus", "sesame")) is None
    finally:
        go_on.set()
        for guess in guesses:
            guess.join()


def test_many_threads_agree(tmp_path: Path):
    """While the file is exchanged all the time, each answer is that of one of the two files."""
    path = written(tmp_path, USERS)
    access = AccessByFile(path)
    wrong: list[bool] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            if access.refusal(None) is None or access.refusal(basic("prometheus", "sesame")):
                wrong.append(True)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(30):
        rewritten(path, USERS + f"# {turn}\n")
        os.sched_yield()
    over.set()
    for thread in threads:
        thread.join()

    assert wrong == []
