"""The configuration, and what is refused before anything starts."""

from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.watch.config import WatchSettings, address_of, open_receivers, read_settings

WHOLE = """
budget_usd_per_month = 20
ledger = "watch.db"
runbook_base = "https://wiki.example/runbooks/"

[[targets]]
target = "rds:*"
region = "eu-central-1"
role = "arn:aws:iam::123456789012:role/plimsoll"

[[targets]]
target = "prom:http://127.0.0.1:9090"
match = ["job=rds"]

[[receivers]]
kind = "webhook"
name = "ops"
url = "http://127.0.0.1:8080/hook"

[poll]
interval_s = 600

[web]
listen_address = ""

[rules.bound]
for_minutes = 5
near_ratio = 0.9

[rules.headroom]
on = false
"""
TARGET = '[[targets]]\ntarget = "rds:*"\n'
WEBHOOK = '[[receivers]]\nkind = "webhook"\nname = "ops"\nurl = "http://127.0.0.1:1/"\n'


def read(folder: Path, text: str) -> WatchSettings:
    """The settings of a file with this text."""
    path = folder / "watch.toml"
    path.write_text(text)
    return read_settings(path)


def test_a_whole_file_is_read(tmp_path: Path):
    """Every table has its place, and what is left out has a default."""
    found = read(tmp_path, WHOLE)

    assert [t.target for t in found.targets] == ["rds:*", "prom:http://127.0.0.1:9090"]
    assert (found.poll.interval_s, found.poll.far_interval_s) == (600, 900)
    assert (found.rules.bound.for_minutes, found.rules.bound.clear_minutes) == (5, 30)
    assert not found.rules.headroom.is_on
    assert found.rules.balance_empty.for_minutes == 60
    assert [r.name for r in open_receivers(found, {})] == ["ops"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "'watch.toml' lacks the key 'targets'"),
        ("targets = []", "no target is given"),
        (
            "[[targets]\n",
            "'watch.toml' is not TOML: expected ']]' at the end of an array declaration",
        ),
        (TARGET + "budjet = 1", "'watch.toml' has the unknown key 'budjet' in targets[0]"),
        ("budjet = 1\n" + TARGET, "'watch.toml' has the unknown key 'budjet'"),
        (TARGET + "[rules.bounds]", "'watch.toml' has the unknown key 'bounds' in rules"),
        (
            TARGET + "[rules.bound]\nform = 1",
            "'watch.toml' has the unknown key 'form' in rules.bound",
        ),
        (
            TARGET + "[rules.bound]\nfor_minutes = '10m'",
            "'watch.toml': expected a whole number, got a text in quotes in rules.bound.for_minutes",
        ),
        (
            TARGET + "[rules.bound]\nnear_ratio = 80",
            "'watch.toml': expected a number ≤ 1.0 in rules.bound.near_ratio",
        ),
        (
            "budget_usd_per_month = 0\n" + TARGET,
            "'watch.toml': expected a number > 0.0 in budget_usd_per_month",
        ),
        (TARGET + TARGET, "the target 'rds:*' is given twice"),
        (TARGET + WEBHOOK + WEBHOOK, "two receivers have the name 'ops'"),
        (
            TARGET + '[[receivers]]\nkind = "pigeon"\nname = "x"',
            "'watch.toml': invalid value 'pigeon'",
        ),
        (
            TARGET + "[rules.time-to-empty]\nempty_minutes = 240",
            "rules.time-to-empty would be nearing later than bound",
        ),
        (TARGET + "[rules.headroom]\ndays = 8", "rules.headroom counts 8 of 7 days"),
        (TARGET + "[poll]\nurgent_interval_s = 400", "the intervals of [poll] are not in order"),
        (TARGET + '[web]\nlisten_address = "9780"', "'9780' is not an address"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, cause: str
):
    """One sentence that names the place, and a hint."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "watch.toml").write_text(text)

    with pytest.raises(UsageError) as caught:
        read_settings(Path("watch.toml"))

    assert caught.value.message.startswith(cause)
    assert caught.value.hint.endswith(".")


def test_hints_name_what_was_probably_meant(tmp_path: Path):
    """A key that is nearly right, and the kinds of receivers."""
    path = tmp_path / "watch.toml"
    for text, hint in (
        (
            TARGET + "[rules.bond]",
            "Did you mean 'bound'? 'plimsoll watch example' prints a file with all keys.",
        ),
        (
            '[[target]]\ntarget = "rds:*"',
            "Did you mean 'targets'? 'plimsoll watch example' prints a file with all keys.",
        ),
        (
            TARGET + '[[receivers]]\nkind = "pigeon"\nname = "x"',
            "The kinds are alertmanager, apprise, email, pagerduty, slack, webhook.",
        ),
    ):
        path.write_text(text)
        with pytest.raises(UsageError) as caught:
            read_settings(path)
        assert caught.value.hint == hint


def test_a_file_that_is_no_text_is_refused(tmp_path: Path):
    """Without the words of a decoder."""
    path = tmp_path / "watch.toml"
    path.write_bytes(b"\xff\xfe[[targets]]")

    with pytest.raises(UsageError, match="is not a text file in UTF-8"):
        read_settings(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    """With the reason of the system."""
    with pytest.raises(UsageError, match="no such file or directory"):
        read_settings(tmp_path / "absent.toml")


def test_addresses_have_a_host_and_a_port():
    """IPv6 in brackets."""
    assert address_of("127.0.0.1:9780") == ("127.0.0.1", 9780)
    assert address_of("[::1]:0") == ("::1", 0)
    for wrong in ("localhost", "127.0.0.1:99999", ":9780"):
        with pytest.raises(UsageError):
            address_of(wrong)
