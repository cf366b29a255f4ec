"""Many instances through the real diagnosis: what is kept, told, printed, and the exit status."""

import json
import sys
import weakref
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import builders
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import read_files
from plimsoll.app.options import ReadOptions
from plimsoll.app.targets import Files
from plimsoll.cli.commands import app
from plimsoll.cli.diagnose import fleet
from plimsoll.cli.output import Format, Output
from plimsoll.errors import AccessDenied, DataError, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.overview import UnreadInstance, Usage
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.files.snapshot import write_snapshot
from situations import R5_2XLARGE
from unit.sources.files.test_standard_input import Terminal

UNREAD = UnreadInstance(identifier="restricted", reason="access denied to rds:DescribeEvents", remedy="Allow it.")


def named(name: str) -> Instance:
    """An instance whose limits are known and whose present ones alone apply."""
    return Instance(
        identifier=name, db_class=R5_2XLARGE.db_class, engine="postgres", storage=Storage(kind="gp3", size_gib=1000.0)
    )


def pressed(name: str = "pressed") -> Snapshot:
    """Four busy hours behind the baseline of the class, until the end."""
    rng = np.random.default_rng(5)
    demand = builders.working_day(rng, 60e6, 400e6)[: 8 * builders.HOUR]
    size = 64 * 1024 * builders.wander(rng, demand.size, 0.1)
    served = builders.held_at(demand, 125 * 2**20, rng=rng, size_bytes=size)
    return builders.snapshot(served, instance=named(name))


def quiet(name: str = "quiet") -> Snapshot:
    """Far below everything."""
    rng = np.random.default_rng(6)
    values = builders.storage(5e6 * builders.wander(rng, 8 * builders.HOUR, 0.3))
    return builders.snapshot(values, instance=named(name))


def blind(name: str = "blind") -> Snapshot:
    """Without any metric of storage."""
    return builders.snapshot({Metric.CPU_RATIO: np.full(480, 0.3)}, instance=named(name))


def ran(capsys: pytest.CaptureFixture[str], *items: Snapshot | UnreadInstance, **options: object):
    """The exit status and what was printed."""
    asked = {name: options.pop(name) for name in ("form", "html", "width") if name in options}
    if "form" in asked:
        asked["format_given"] = asked.pop("form")
    status = fleet.run("rds:*", iter(items), output=Output(**asked), **options)
    return status, capsys.readouterr().out


def overview(stream: Iterator[Snapshot | UnreadInstance], **options):
    """The overview of a stream through the real diagnosis."""
    options = {"diagnose": diagnose_snapshot, "source": "rds:*"} | options
    return fleet.diagnose_fleet(stream, **options)


@pytest.mark.parametrize(
    ("items", "status"),
    [
        ((pressed(), quiet()), 1),
        ((pressed(), blind(), UNREAD), 1),
        ((quiet(), blind()), 2),
        ((quiet(), UNREAD), 2),
        ((UNREAD,), 2),
        ((), 2),
        ((quiet(),), 0),
    ],
)
def test_the_exit_status_says_the_worst(capsys, items, status):
    """1 if any binds, else 2 if any could not be judged or read or none was there, else 0."""
    assert status == ran(capsys, *items)[0]


def test_a_stopped_reading_is_not_fine():
    """An end before the end leaves instances that nobody looked at: 2, even if all others have room."""
    found = overview(failing(quiet(), error=AccessDenied("the token expired", "Log in again.")))

    assert "the token expired. Log in again." == found.stopped
    assert 2 == fleet.exit_status(found)


def failing(*items: Snapshot | UnreadInstance, error: Exception) -> Iterator[Snapshot | UnreadInstance]:
    """A stream that breaks after its items."""
    yield from items
    raise error


def test_a_stream_that_fails_at_once_is_an_error():
    """Where nothing was read there is no table, only the cause."""
    with pytest.raises(AccessDenied, match="expired"):
        overview(failing(error=AccessDenied("the token expired", "Log in again.")))


def test_an_instance_that_cannot_be_diagnosed_is_unread():
    """One that is not what it should be does not keep the others from their rows."""

    def diagnose(snapshot: Snapshot):
        if snapshot.instance.identifier == "damaged":
            raise DataError("series 'x' has no times", "Record it again.")
        return diagnose_snapshot(snapshot)

    found = overview(iter([quiet("damaged"), quiet("whole")]), diagnose=diagnose)

    assert ["whole"] == [r.instance.identifier for r in found.rows]
    assert ["damaged"] == [u.identifier for u in found.unread]
    assert "series 'x' has no times" == found.unread[0].reason


def test_our_own_mistakes_are_not_hidden():
    """What is not an error of the user's kind is not made into a row."""

    def broken(snapshot: Snapshot):
        raise AssertionError

    with pytest.raises(AssertionError):
        overview(iter([quiet()]), diagnose=broken)


def test_snapshots_are_let_go():
    """When the next snapshot is asked for, none of the earlier ones is still held."""
    alive: list[weakref.ref[np.ndarray]] = []
    held: list[int] = []

    def stream() -> Iterator[Snapshot]:
        for number in range(4):
            held.append(sum(ref() is not None for ref in alive))
            snapshot = quiet(f"db-{number}")
            alive.append(weakref.ref(snapshot.series[Metric.READ_BYTES_PER_S].value))
            yield snapshot
            del snapshot

    assert 4 == len(overview(stream()).rows)
    assert [0, 0, 0, 0] == held


def test_the_price_is_asked_for_at_the_end(capsys):
    """What reading cost is known after the last instance, and stands in the table."""
    read: list[str] = []

    def stream() -> Iterator[Snapshot]:
        for name in ("a", "b"):
            read.append(name)
            yield quiet(name)

    def spent():
        read.append("price")
        return Usage(calls=(("rds:DescribeEvents", 2),), metrics_requested=60), Decimal("0.0006")

    fleet.run("rds:*", stream(), spent=spent, output=Output(format_given=Format("json")))
    found = json.loads(capsys.readouterr().out)

    assert ["a", "b", "price"] == read
    assert (0.0006, 60) == (found["cost_usd"], found["usage"]["metrics_requested"])


def test_every_form_is_printed(capsys, tmp_path: Path):
    """
    Text, JSON and Markdown of the same instances, and a page beside the text; the text honours its width. Those
    with room are a list of names by default, rows with `lists_all`.
    """
    items, page = (pressed(), quiet()), tmp_path / "fleet.html"
    text = ran(capsys, *items, width=60, html=page)[1]
    markdown = ran(capsys, *items, form=Format("markdown"))[1]

    assert "1 of 2 instances is up against a limit, now; 1 is not." in " ".join(text.split())
    assert 60 >= max(map(len, text.splitlines()))
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert markdown.startswith("# 1 of 2 instances is up against a limit")
    assert "plimsoll.overview/1" == json.loads(ran(capsys, *items, form=Format("json"))[1])["schema"]
    assert "NOT NEAR A LIMIT: 1" in text
    assert "● slack" in ran(capsys, quiet(), lists_all=True)[1]
    with pytest.raises(UsageError, match="no folder"):
        ran(capsys, pressed(), html=tmp_path / "absent" / "fleet.html")


class Counted:
    """A stream that knows how many it will give."""

    def __init__(self, *items: Snapshot | UnreadInstance) -> None:
        self.items = list(items)

    def __iter__(self):
        return self

    def __next__(self):
        if not self.items:
            raise StopIteration
        return self.items.pop(0)

    def __length_hint__(self) -> int:
        return len(self.items)


def test_progress_is_told_on_a_terminal(monkeypatch, capsys):
    """How many of how many, or how many so far; the line is emptied before the table comes. A log gets none."""
    fleet.run("rds:*", iter([quiet()]), output=Output())
    piped = capsys.readouterr().err
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    fleet.run("rds:*", Counted(quiet("a"), UNREAD), output=Output())
    counted = terminal.getvalue()
    fleet.run("rds:*", (item for item in (quiet("a"), UNREAD)), output=Output())

    assert "" == piped
    assert "\r1 of 2\r2 of 2\r      \r" == counted
    assert "\r1 read\r2 read\r      \r" == terminal.getvalue().removeprefix(counted)


def test_an_interrupted_reading_leaves_a_clean_line(monkeypatch):
    """Control-C ends the reading; what was told of its progress is wiped first."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with pytest.raises(KeyboardInterrupt):
        fleet.run("rds:*", failing(quiet(), error=KeyboardInterrupt()), output=Output())

    assert terminal.getvalue().endswith("\r      \r")


def recorded(folder: Path, *snapshots: Snapshot) -> Path:
    """A folder of recordings."""
    folder.mkdir()
    for snapshot in snapshots:
        write_snapshot(folder / f"{snapshot.instance.identifier}.json", snapshot)
    return folder


def test_a_folder_is_a_fleet_when_every_instance_is_asked_for(tmp_path):
    """`--identifier '*'` of a folder gives the table that a pattern of a live target gives."""
    folder = recorded(tmp_path / "e", pressed(), quiet())
    done = CliRunner().invoke(app, ["diagnose", str(folder), "--identifier", "*", "--format", "json"])

    assert 1 == done.exit_code
    assert ["pressed", "quiet"] == [r["identifier"] for r in json.loads(done.output)["rows"]]


def test_a_folder_is_cut_to_the_window(tmp_path):
    """The last hour of each; who has no sample in a window is unread, with where its samples lie."""
    late = builders.snapshot(
        builders.storage(np.full(60, 5e6)), instance=named("late"), start_s=builders.START_S + 86_400
    )
    folder = recorded(tmp_path / "e", quiet(), late)
    last, day = (
        list(read_files(Files(str(folder)), instance_file=None, read_options=read_options))
        for read_options in (ReadOptions(last="1h"), ReadOptions(until="2021-03-08T12:00"))
    )

    assert [3600, 3600] == [s.window_s[1] - s.window_s[0] for s in last]
    assert ["late", "quiet"] == [i.identifier if isinstance(i, UnreadInstance) else i.instance.identifier for i in day]
    assert "has no sample in that window" in day[0].reason
