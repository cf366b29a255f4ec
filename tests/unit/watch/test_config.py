"""The configuration, and what is refused before anything starts."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.watch.config import WatchSettings, address_of, open_receivers, read_settings
from refused_texts import refused

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


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Callable[[str, str], None]):
    """One sentence that names the place, and a hint that names what was probably meant."""
    monkeypatch.chdir(tmp_path)

    golden("refusals/texts/watch.toml.txt", refused("watch.toml.txt", partial(read, Path())))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    """Without the words of a decoder; with the reason of the system."""
    (tmp_path / "watch.toml").write_bytes(b"\xff\xfe[[targets]]")

    for name, reason in (("watch.toml", "is not a text file in UTF-8"), ("absent.toml", "no such file or directory")):
        with pytest.raises(UsageError, match=reason):
            read_settings(tmp_path / name)


def test_addresses_have_a_host_and_a_port():
    """IPv6 in brackets; the transcripts of `watch` refuse what is none."""
    assert address_of("127.0.0.1:9780") == ("127.0.0.1", 9780)
    assert address_of("[::1]:0") == ("::1", 0)
