"""Settings name secrets and never contain them; what is missing or wrong is one sentence."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from contract.documents import blocks
from fixtures.receivers.doubles import Recorder
from fixtures.receivers.messages import BOUND, NEARING
from plimsoll.watch.receivers.settings import ReceiverSettings, open_receiver
from refused_texts import refused

# Apprise looks for imghdr, which Python 3.13 no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[4]
SECRET = "planted-secret-of-a-receiver"
ADDRESS = f"https://hooks.slack.com/services/T000/B000/{SECRET}"
ENVIRONMENT = {"PLANTED": SECRET, "ADDRESS": ADDRESS, "EMPTY": "  ", "LINES": "a\nb"}


def settings_of(toml: str) -> ReceiverSettings:
    return msgspec.toml.decode(toml, type=ReceiverSettings)


COMPLETE = {
    "SlackWebhook": 'kind = "slack"\nname = "a"\nwebhook_url_env = "ADDRESS"',
    "SlackBot": 'kind = "slack"\nname = "a"\ntoken_env = "PLANTED"\nchannel = "C0123ABCDEF"',
    "AlertmanagerReceiver": 'kind = "alertmanager"\nname = "a"\nurls = ["http://am:9093"]\n'
    'user = "plimsoll"\npassword_env = "PLANTED"\nlabels = {team = "databases"}',
    "PagerDuty": 'kind = "pagerduty"\nname = "a"\nrouting_key_env = "PLANTED"\nregion = "eu"',
    "EmailReceiver": 'kind = "email"\nname = "a"\nhost = "mail.example.com"\nuser = "plimsoll"\n'
    'password_env = "PLANTED"\nsender = "plimsoll@example.com"\nto = ["dba@example.com"]',
    "Webhook": 'kind = "webhook"\nname = "a"\nurl = "https://x.example/in"\nsecret_env = "PLANTED"',
}


@pytest.mark.parametrize("kind", COMPLETE)
def test_each_kind_is_opened(kind: str):
    """A complete table gives a receiver with its name; nothing printed of either contains a secret."""
    settings = settings_of(COMPLETE[kind])
    receiver = open_receiver(settings, ENVIRONMENT)

    assert (kind, "a") == (type(receiver).__name__, receiver.name)
    assert SECRET not in repr(settings) + repr(receiver) + repr(vars(receiver))


def test_a_severity_selects_messages():
    """A critical receiver leaves a warning out, without a request."""
    settings = settings_of(COMPLETE["Webhook"] + '\nleast_severity = "critical"')

    assert "" == open_receiver(settings, ENVIRONMENT).send(NEARING, "")


def test_a_secret_is_read_from_a_file(tmp_path: Path):
    """The file has the secret and an end of line."""
    with Recorder() as recorder:
        (tmp_path / "url").write_text(f"{recorder.url}/{SECRET}\n")
        file = f'kind = "webhook"\nname = "a"\nurl_file = "{tmp_path}/url"'
        open_receiver(settings_of(file), {}).send(BOUND, "")

    assert [f"/{SECRET}"] == [sent.path for sent in recorder.sent]


def test_what_is_wrong_is_one_sentence(golden: Callable[[str, str], None]):
    """A table that cannot work is refused before anything is sent, and no secret is shown."""
    shown = refused("receivers.toml.txt", lambda text: open_receiver(settings_of(text), ENVIRONMENT))

    assert SECRET not in shown
    assert all("receiver" in line for line in shown.splitlines() if line.startswith("error: "))
    golden("refusals/texts/receivers.toml.txt", shown)


@pytest.mark.parametrize(
    "toml",
    [
        'kind = "slack"\nname = "a"\ntoken = "xoxb-in-the-file"\nchannel = "c"',
        'kind = "webhook"\nname = "a"\nurl = "https://x"\nsecret = "in-the-file"',
        'kind = "fax"\nname = "a"',
        'name = "a"',
    ],
)
def test_unknown_settings_are_refused(toml: str):
    """A secret in the file itself is an unknown setting; the message names the setting, not its value."""
    with pytest.raises(msgspec.ValidationError) as found:
        settings_of(toml)

    assert "in-the-file" not in str(found.value)


def test_the_examples_of_the_guide_work(tmp_path: Path):
    """Every table of docs/guides/alert-receivers.md opens a receiver, and every kind has one."""
    guide = (ROOT / "docs" / "guides" / "alert-receivers.md").read_text(encoding="utf-8")
    (tmp_path / "secret").write_text(SECRET)
    environment = {"SLACK_TOKEN": SECRET, "SLACK_WEBHOOK_URL": ADDRESS, "APPRISE_URL": "json://127.0.0.1"}
    tables = [table for _, lines in blocks(guide, "toml") for table in tomllib.loads("\n".join(lines))["receivers"]]
    for table in tables:
        files = {key: str(tmp_path / "secret") for key in table if key.endswith("_file")}
        settings = msgspec.convert(table | files, type=ReceiverSettings)

        assert table["name"] == open_receiver(settings, environment).name
    assert {"slack", "alertmanager", "pagerduty", "webhook", "email", "apprise"} == {table["kind"] for table in tables}
