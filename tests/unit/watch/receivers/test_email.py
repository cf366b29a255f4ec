"""E-mail, through a real SMTP server on loopback."""

import socket
from pathlib import Path

import pytest

from fixtures.certificates import signed_by_itself
from fixtures.receivers.mail import PASSWORD, USER, MailBox
from fixtures.receivers.messages import BOUND, HOSTILE, KEY, NEARING, RESOLVED, hostile, message, picture
from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.watch.receivers import email
from plimsoll.watch.receivers.email import EmailReceiver, MailServer
from plimsoll.watch.receivers.receiver import RefusedError
from plimsoll.watch.receivers.secret import Secret

TO = ("dba@example.com", "second@example.com")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return signed_by_itself(tmp_path_factory.mktemp("mail"))


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The certificate, trusted by the client."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    email._authorities.cache_clear()
    yield certificate
    email._authorities.cache_clear()


def receiver(port: int, *, to=TO, notes=None, **server) -> EmailReceiver:
    fields = {"host": "localhost", "security": "none"} | server
    kept = [] if notes is None else notes
    now_s = 1_795_343_700.0
    return EmailReceiver(
        "team", MailServer(port=port, **fields), "plimsoll@example.com", to, note=kept.append, now=lambda: now_s
    )


def test_an_episode_is_one_thread():
    """One subject, Message-IDs from key and number, references to the first message and the one before."""
    with MailBox() as box:
        for each in (NEARING, BOUND, RESOLVED):
            receiver(box.port).send(each, "")
    identifiers = [f"<plimsoll.{KEY}.{number}@example.com>" for number in (1, 2, 3)]

    assert identifiers == [mail["Message-ID"] for mail in box.mails]
    assert 1 == len({mail["Subject"] for mail in box.mails})
    assert [None, identifiers[0], " ".join(identifiers[:2])] == [m["References"] for m in box.mails]
    assert [None, *identifiers[:2]] == [mail["In-Reply-To"] for mail in box.mails]
    assert [list(TO)] * 3 == box.recipients


def test_a_repetition_has_the_same_message_id():
    with MailBox() as box:
        returned = [receiver(box.port).send(BOUND, "") for _ in range(2)]

    assert returned == [mail["Message-ID"] for mail in box.mails]
    assert 1 == len(set(returned))


def test_the_picture_is_attached():
    """The text is first, then the PNG."""
    with MailBox() as box:
        receiver(box.port).send(message(picture_png=picture()), "")
    text, png = box.mails[0].iter_parts()

    assert "212.9 MB/s is at the instance EBS throughput" in text.get_content()
    assert ("image/png", picture()) == (png.get_content_type(), png.get_content())
    assert f"timeline-{KEY}-2.png" == png.get_filename()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_begins_no_header(text):
    """The headers of the mail are ours, and its recipients those of the settings."""
    with MailBox() as box:
        receiver(box.port).send(hostile(text), "")
    (mail,) = box.mails

    assert {
        *("subject", "from", "to", "date", "message-id", "in-reply-to", "references"),
        *("auto-submitted", "x-auto-response-suppress", "x-plimsoll-state"),
        *("x-plimsoll-severity", "content-type", "content-transfer-encoding", "mime-version"),
        *("x-peer", "x-mailfrom", "x-rcptto"),
    } >= {name.lower() for name in mail}
    assert [list(TO)] == box.recipients
    assert mail["Subject"].isprintable()
    assert mail["Subject"].startswith("[Plimsoll, simulated data] ")
    assert mail.get_content().startswith("At a limit: ")


@pytest.mark.parametrize(("security", "is_at_once"), [("starttls", False), ("tls", True)])
def test_a_password_is_sent_over_tls(trusted, security, is_at_once):
    """With STARTTLS and with TLS from the beginning; the certificate is that of the host."""
    with MailBox(trusted, is_tls_at_once=is_at_once) as box:
        server = {"user": USER, "password": Secret(PASSWORD), "security": security}
        receiver(box.port, **server).send(BOUND, "")

    assert [True] == box.was_encrypted


@pytest.mark.parametrize(("security", "is_at_once"), [("starttls", False), ("tls", True)])
def test_a_certificate_of_nobody_is_refused(certificate, security, is_at_once):
    with (
        MailBox(certificate, is_tls_at_once=is_at_once) as box,
        pytest.raises(Unreachable, match=r"no TLS connection to receiver 'team': certificate"),
    ):
        receiver(box.port, security=security).send(BOUND, "")

    assert [] == box.mails


def test_a_server_without_starttls_gets_nothing():
    """There is no way back to a connection without encryption."""
    with MailBox() as box, pytest.raises(RefusedError, match="does not offer"):
        receiver(box.port, security="starttls").send(BOUND, "")

    assert [] == box.mails


def test_a_wrong_password_is_refused_and_not_shown(trusted):
    server = {"user": USER, "password": Secret("planted-wrong"), "security": "starttls"}
    with MailBox(trusted) as box, pytest.raises(RefusedError) as found:
        receiver(box.port, **server).send(BOUND, "")

    assert "receiver 'team': the server refused the login" == found.value.message
    assert "planted" not in found.value.hint


@pytest.mark.parametrize(
    ("answers", "kind", "sentence"),
    [
        ({"DATA": "554 spam\x1b[31m"}, RefusedError, r"\(554: spam"),
        ({"DATA": "451 try later"}, SourceError, r"\(451: try later\)"),
        (dict.fromkeys(TO, "550 nobody"), RefusedError, r"\(550: nobody\)"),
        (dict(zip(TO, ("550 nobody", "450 greylisted"), strict=True)), SourceError, r"\(450: grey"),
    ],
)
def test_what_a_server_refuses_is_told_apart(answers, kind, sentence):
    """5yz is final, 4yz is not; one address that may work later is enough to try again."""
    with MailBox(answers=answers) as box, pytest.raises(SourceError, match=sentence) as found:
        receiver(box.port).send(BOUND, "")

    assert kind is type(found.value)


def test_a_part_of_the_addresses_is_a_delivery():
    """The others have the message; one sentence says how many were refused."""
    notes: list[str] = []
    with MailBox(answers={TO[0]: "550 nobody"}) as box:
        receiver(box.port, notes=notes).send(BOUND, "")

    assert [[TO[1]]] == box.recipients
    assert ["receiver 'team': the server refused 1 of 2 addresses"] == notes


def test_nobody_there_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(Unreachable) as found:
            receiver(taken.getsockname()[1]).send(BOUND, "")

    assert "unable to reach receiver 'team': connection refused" == found.value.message


@pytest.mark.parametrize("address", ["", "nobody", "a@b\r\nBcc: c@d", "a b@c", "<a@b>", "@b", "ü@b"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(UsageError, match="has an address that is none"):
        receiver(25, to=(address,))


def test_a_password_needs_tls_or_loopback():
    with pytest.raises(UsageError, match="without TLS"):
        receiver(25, host="mail.example.com", user=USER, password=Secret(PASSWORD))
    with pytest.raises(UsageError, match="to is empty"):
        receiver(25, to=())
