"""What the watch takes from an inspection, and what it leaves out."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import databases
import inspections
import watched
from plimsoll.app import watched_databases
from plimsoll.app.watched_databases import databases_of, load_of
from plimsoll.model.cause import Cause, CauseKind
from plimsoll.model.diagnosis import Evidence
from plimsoll.watch.config import DatabaseSettings, TargetSettings, WatchSettings

SECRET = "select secret from customers where card = '4111'"
SEEN = databases.observation(databases.reading(), databases.reading(databases.START_S + 60))


def weighed(monkeypatch: pytest.MonkeyPatch, *causes: Cause, **changes: object):
    """The load of an observation in which these causes were found."""
    load = {"load_read_bytes_per_s": 10e6, "load_written_bytes_per_s": 5e6} | changes
    found = replace(inspections.inspection(causes=causes), **load)
    monkeypatch.setattr(watched_databases, "inspect_for_diagnosis", lambda *_: found)
    return load_of(SEEN, watched.diagnosis())


def test_reasons_come_before_what_only_says_how_bytes_are_written(monkeypatch: pytest.MonkeyPatch):
    """The WAL of a rewrite is larger here, and explains nothing; a cause without a share is left out."""
    wal = inspections.cause(kind=CauseKind.WAL, code="WalWrites", share_of_load=0.9)
    scan = inspections.cause(kind=CauseKind.SEQUENTIAL_SCANS, code="SequentialScans", share_of_load=0.6)
    idle = inspections.cause(share_of_load=None)
    load = weighed(monkeypatch, wal, inspections.cause(), idle, scan)

    assert [c.kind for c in load.causes] == [CauseKind.SEQUENTIAL_SCANS, CauseKind.TOAST, CauseKind.WAL]
    assert (load.bytes_per_s, load.window_s, load.missing) == (15e6, 60.0, "")


def test_no_text_of_a_statement_is_taken(monkeypatch: pytest.MonkeyPatch):
    """Only its number; the subject is the same for the same text, and another for another."""

    def of(text: str) -> object:
        cause = inspections.cause(
            kind=CauseKind.PLANS,
            code="StatementReads",
            subject=text,
            title="One statement reads 9 MB/s, 60 % of all bytes.",
            evidence=(
                Evidence(kind="statement", text="Query identifier -42."),
                Evidence(kind="statement", text=f"10 calls: {text}"),
            ),
        )
        return weighed(monkeypatch, cause).causes[0]

    one = of(SECRET)

    assert "secret" not in str(one)
    assert "4111" not in str(one)
    assert "Query identifier -42" in one.facts
    assert one == of(SECRET)
    assert one != of(SECRET + " ")


def test_code_of_several_lines_is_left_to_the_command(monkeypatch: pytest.MonkeyPatch):
    """The first remedy in a sentence, what fits on a line, and where the rest is."""
    (one,) = weighed(monkeypatch, inspections.cause()).causes

    assert one.advice == (
        "let the statement keep the stored value where the new one is equal",
        "SELECT 1;",
        "'plimsoll inspect DSN' prints all remedies, with code",
    )


def test_a_load_that_is_not_known_is_not_zero(monkeypatch: pytest.MonkeyPatch):
    """A server that refused, one that was read once, and one that does not count its bytes."""
    full = load_of(replace(SEEN, full="too many clients"), watched.diagnosis())

    assert full.missing == "accepts no more connections, so it was not inspected"
    assert "read only once" in weighed(monkeypatch, reading_count=1).missing
    assert weighed(monkeypatch, load_written_bytes_per_s=None).bytes_per_s is None


def test_a_dsn_is_read_again_for_each_observation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Passwords are exchanged while the watch runs."""
    place = tmp_path / "dsn"
    place.write_text("host=db1 password=old\n")
    target = TargetSettings(target="rds:*", databases={"orders": DatabaseSettings(dsn_file=str(place))})
    asked: list[str] = []
    monkeypatch.setattr(watched_databases, "observe", lambda dsn, _s, sleep: asked.append(dsn) or SEEN)
    (observe,) = databases_of(target, WatchSettings(targets=(target,)), {}).values()
    observe(lambda _s: None)
    place.write_text("host=db1 password=new\n")
    observe(lambda _s: None)

    assert asked == ["host=db1 password=old", "host=db1 password=new"]
