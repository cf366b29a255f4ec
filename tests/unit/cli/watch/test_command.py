"""The command: bad input, one round, and what it would cost."""

import re
import socket
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from fixtures.certificates import signed_by_itself
from plimsoll.cli.commands import run
from plimsoll.errors import Unreachable, UsageError
from plimsoll.watch.config import (
    DatabaseSettings,
    InspectionSettings,
    TargetSettings,
    WatchSettings,
    WebSettings,
    read_settings,
)
from plimsoll.watch.defaults import LEDGER
from plimsoll.watch.law.rulebook import RULES, RuleTables
from plimsoll.watch.law.schedule import PollSettings
from plimsoll.watch.receivers.settings import ReceiverSettings
from unit.watch.test_access_file import HASH, TLS

ROOT = Path(__file__).resolve().parents[4]
EXAMPLE = str(ROOT / "examples" / "quiet")


@pytest.mark.parametrize(
    ("more", "variables", "cause"),
    [
        ('profile = "absent"', {}, "the AWS configuration has no profile 'absent'"),
        ("", {}, "no AWS region is set"),
        ('role = "admin"', {"AWS_REGION": "eu-central-1"}, "'admin' is not the ARN of a role"),
    ],
)
def test_an_account_that_cannot_be_used_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, variables: dict[str, str], cause: str
):
    """No ledger is made, and nothing is asked."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "absent"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "absent"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    config = tmp_path / "watch.toml"
    config.write_text(f'[[targets]]\ntarget = "rds:*"\n{more}\n')

    with pytest.raises(UsageError) as caught:
        run(["watch", "--config", str(config)])

    assert caught.value.message.startswith(cause)
    assert "--" not in caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["watch.toml"]


def test_once_gives_the_status_of_the_worst(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A quiet example is 0, and the log says that the lease was taken; a second round changes nothing."""
    ledger = ["--ledger", str(tmp_path / "l.db"), "--once"]

    assert run(["watch", EXAMPLE, *ledger]) == 0
    assert "event=lease owner=true" in capsys.readouterr().err


def test_a_receiver_that_cannot_be_reached_is_found_before_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """By the check, by one round and by the service; --start-anyway starts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    config = tmp_path / "watch.toml"
    config.write_text(
        f'ledger = "{tmp_path}/l.db"\n[[targets]]\ntarget = "{EXAMPLE}"\n'
        f'[[receivers]]\nkind = "webhook"\nname = "ops"\nurl = "http://127.0.0.1:{port}/"\n'
    )
    cause = "unable to reach receiver 'ops': connection refused"

    for more in (["check"], ["--once"], []):
        with pytest.raises(Unreachable) as caught:
            run(["watch", *more, "--config", str(config)])
        assert caught.value.message == cause
    assert not (tmp_path / "l.db").exists()
    assert run(["watch", "--once", "--start-anyway", "--config", str(config)]) == 0
    assert "receivers  ops" in capsys.readouterr().out


def test_check_says_where_it_would_listen_and_for_whom(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The options of the command line replace those of the file."""
    signed_by_itself(tmp_path)
    web = tmp_path / "web.yml"
    web.write_text(f"{TLS}basic_auth_users:\n  prometheus: {HASH}\n")
    config, dsn = tmp_path / "watch.toml", tmp_path / "dsn"
    config.write_text(
        f'[[targets]]\ntarget = "{EXAMPLE}"\n[targets.databases.quiet]\ndsn_file = "{dsn}"\n'
        '[web]\nlisten_address = ""\nconfig_file = "absent"\n'
    )

    dsn.write_text("host=db1 dbname=orders\n")
    address = ["--web.listen-address", "0.0.0.0:9780"]
    run(["watch", "check", "--config", str(config), *address, "--web.config.file", str(web)])

    printed = capsys.readouterr().out
    assert "web        https://0.0.0.0:9780, 1 user\n" in printed
    assert "inspected  quiet, every 900 s\n" in printed


def test_the_example_has_every_key_and_says_the_defaults(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """As printed it can be used; with all comments taken off it has every key once, and the defaults of all rules."""
    assert run(["watch", "example"]) == 0
    path = tmp_path / "watch.toml"
    path.write_text(capsys.readouterr().out)
    assert read_settings(path) == WatchSettings(targets=(TargetSettings(target="rds:*"),))

    bare = re.sub(r"(?m)^# (?=\[|[a-z_]+ = )", "", path.read_text())
    path.write_text(bare)
    found = read_settings(path)

    assert (found.rules, found.poll, found.ledger) == (RuleTables(), PollSettings(), LEDGER)
    tables = [TargetSettings, DatabaseSettings, InspectionSettings]
    tables += [WebSettings, WatchSettings, PollSettings]
    tables += [*get_args(ReceiverSettings), *(type(RuleTables().of(rule)) for rule in RULES)]
    missing = {
        field.encode_name
        for table in tables
        for field in msgspec.structs.fields(table)
        if not re.search(rf"\b{field.encode_name}\b", bare)
    }
    assert missing == set()
