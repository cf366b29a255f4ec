"""The long tail through Apprise, shown with its service that posts JSON to this machine."""

import subprocess
import sys

import pytest

from fixtures.receivers.doubles import Given, Recorder
from fixtures.receivers.messages import BOUND, HOSTILE, RESOLVED, hostile, message, picture
from plimsoll.errors import SourceError, UsageError
from plimsoll.watch.receivers.apprise import AppriseReceiver
from plimsoll.watch.receivers.secret import Secret

# Apprise looks for imghdr, which Python 3.13 no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

PLANTED = "planted-part-of-an-address"


def receiver(recorder: Recorder) -> AppriseReceiver:
    return AppriseReceiver("team", Secret(f"json://{recorder.url[7:]}/{PLANTED}"))


def test_a_message_is_plain_text_with_its_picture():
    """Title, text, kind, and the PNG in base64."""
    with Recorder() as recorder:
        receiver(recorder).send(message(picture_png=picture()), "")
        receiver(recorder).send(RESOLVED, "")
    first, second = (sent.json for sent in recorder.sent)

    assert "At a limit: orders-primary (simulated data)" == first["title"]
    assert BOUND.title in first["message"]
    assert ("failure", "success") == (first["type"], second["type"])
    assert ["image/png"] == [each["mimetype"] for each in first["attachments"]]


@pytest.mark.parametrize("status", [400, 500, 302])
def test_a_failure_is_tried_again_and_shows_nothing(status, caplog):
    """Redirects are not followed; neither the error nor a log has a part of the address."""
    with Recorder() as recorder:
        recorder.first += [Given(status, b"", {"Location": f"{recorder.url}/elsewhere"})]
        with pytest.raises(SourceError) as found:
            receiver(recorder).send(BOUND, "")

    assert "receiver 'team': Apprise could not deliver the message" == found.value.message
    assert PLANTED not in caplog.text
    assert 1 == len(recorder.sent)


@pytest.mark.parametrize("url", ["nope://planted", "planted", "json://", "json://a, json://b"])
def test_an_address_that_apprise_does_not_know_is_refused(url):
    with pytest.raises(UsageError) as found:
        AppriseReceiver("team", Secret(url))

    assert "receiver 'team': Apprise does not know the address" == found.value.message


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_a_text(text):
    with Recorder() as recorder:
        receiver(recorder).send(hostile(text), "")
    found = recorder.sent[0].json

    assert found["title"].isprintable()
    assert all(line.isprintable() for line in found["message"].splitlines())


def test_without_the_extra_one_sentence_says_what_installs_it():
    """A plain installation opens every other receiver."""
    script = (
        "import sys; sys.modules['apprise'] = None\n"
        "from plimsoll.errors import PlimsollError\n"
        "from plimsoll.watch.receivers.settings import AppriseSettings, open_receiver\n"
        "try: open_receiver(AppriseSettings(name='team', url_env='A'), {'A': 'json://x'})\n"
        "except PlimsollError as error: print(error.message, error.hint)\n"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert (
        "receiver 'team' of the kind 'apprise' needs the extra 'notify', which is not installed "
        "Install it with: pip install 'plimsoll-db[notify]'.\n"
    ) == found.stdout
