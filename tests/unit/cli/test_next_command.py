"""The commands that a report prints for the next step."""

import csv
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer

import builders
from contract.tree import ROOT
from plimsoll.app import read as targets
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions, ReadOptions
from plimsoll.app.targets import target_of
from plimsoll.cli.compare import register
from plimsoll.cli.diagnose import run as diagnose_command
from plimsoll.cli.next_command import check_command, plan_command
from plimsoll.cli.plan import run as plan_module
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

PRESSED = ROOT / "examples" / "claims-pipeline"
DAY = 24 * builders.HOUR
LEVEL = 86.875e6
NOW = Instance(db_class="db.t3.xlarge", storage=Storage(kind="gp2", size_gib=1200.0))
NEW = Instance(db_class="db.m6g.xlarge", storage=NOW.storage)


def printed_of(ran) -> list[str]:
    """The words of the `plimsoll plan` line of a report, after the program."""
    (line,) = [one for one in ran.out.splitlines() if one.startswith("  plimsoll plan ")]
    return shlex.split(line)[1:]


def pressed(minutes: int = 2 * DAY, **instance) -> Snapshot:
    """Six hours of each day at the baseline of db.t3.xlarge."""
    asked = np.where(np.arange(minutes) % DAY // 60 // 6 == 1, 2 * LEVEL, 5e6)
    held = builders.held_at(asked, LEVEL, rng=np.random.default_rng(3))
    return builders.snapshot(held, instance=Instance(identifier="orders", **instance))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A CSV that says nothing of the instance, in a folder whose name has a space."""
    folder = tmp_path / "my exports"
    folder.mkdir()
    snapshot = pressed()
    names = {metric: series.value for metric, series in snapshot.series.items()}
    time_s = next(iter(snapshot.series.values())).time_s
    with (folder / "orders.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["time", *(metric.value for metric in names)])
        table.writerows(zip(time_s.tolist(), *(v.tolist() for v in names.values()), strict=True))
    return folder / "orders.csv"


@pytest.fixture
def account(monkeypatch):
    """A live instance whose last samples are twenty minutes late; what was asked of it."""
    asked: list[str | None] = []

    def read(target, flags, read_options=None, progress=None):
        asked.append(read_options.last)
        start_s, end_s = targets.live_window(read_options)
        # No more than a day is there, however long the window: two weeks are planned for slowly.
        return pressed(
            min((end_s - start_s) // 60, DAY) - 20,
            db_class="db.t3.xlarge",
            engine="postgres",
            region="us-east-1",
            storage=Storage(kind="gp2", size_gib=1200.0),
        )

    def diagnosed(target, flags, read_options, progress):
        return (snapshot := read(target, flags, read_options)), diagnose_snapshot(snapshot)

    monkeypatch.setattr(diagnose_command, "diagnose_target", diagnosed)
    monkeypatch.setattr(plan_module, "read_target", read)
    return asked


@pytest.mark.parametrize("name", ["claims-pipeline", "search-service", "search-service-after"])
def test_what_an_example_prints_runs(run, name):
    """The command at the end of a report is a command: it answers."""
    result = run("diagnose", ROOT / "examples" / name)
    if "  plimsoll plan " not in result.out:
        assert "up against" not in result.out.splitlines()[0]
        return
    ran = run(*printed_of(result))

    assert (1, "") == (ran.status, ran.err)


def test_the_flags_of_an_export_are_printed_again(run, export):
    """A file does not say what was bought: class, engine, storage and size, and a region to be replaced."""
    flags = ["--class", "db.t3.xlarge", "--engine", "postgres", "--storage", "gp2", "--size-gib", "1200"]
    result = run("diagnose", export, *flags)
    ran = run(*printed_of(result))

    assert ["plan", str(export), *flags] == printed_of(result)[:-2]
    assert ["--region", "us-east-1"] == printed_of(result)[-2:]
    assert "the prices of your region in place of us-east-1" in result.out
    assert (1, "") == (ran.status, ran.err)


@pytest.mark.parametrize(
    ("window", "printed"),
    [((), ()), (("--last", "24h"), ("--last", "24h")), (("--last", "3d"), ("--last", "3d")), (("--last", "13h"), ())],
)
def test_the_window_of_a_live_instance_is_printed_again(run, account, window, printed):
    """The last samples may be late; a window that is too short to plan for is left to plan's two weeks."""
    result = run("diagnose", "rds:orders", *window)
    ran = run(*printed_of(result))

    assert ["plan", "rds:orders", *printed] == printed_of(result)
    assert (1, "") == (ran.status, ran.err)
    assert (printed[1] if printed else "14d") == account[-1]


def test_what_cannot_be_typed_again_is_not_printed():
    """A password in an address or a header; a tenant is none. Standard input cannot be read twice."""
    flags = InstanceOptions()
    headers = ReadOptions(headers=("Authorization:Bearer hunter2",))
    tenant = ReadOptions(headers=("X-Scope-OrgID:shop",), match=("db=a b",))

    assert plan_command(target_of("prom:http://me:hunter2@host:9090"), flags, ReadOptions()) is None
    assert plan_command(target_of("prom:http://host:9090"), flags, headers) is None
    assert plan_command(target_of("-"), flags, ReadOptions()) is None
    assert "" == check_command(target_of("-"), flags, ReadOptions(), before=NOW, after=NEW)
    assert "" == check_command(target_of("prom:http://host:9090"), flags, headers, before=NOW, after=NEW)
    assert "plimsoll plan prom:http://host:9090 --match 'db=a b' --header X-Scope-OrgID:shop" == plan_command(
        target_of("prom:http://host:9090"), flags, tenant
    )


def test_whatever_was_given_is_printed_again():
    """Instance, window, access, series, counts; a number as it was typed."""
    flags = InstanceOptions(identifier="a b", instance_file=Path("i.json"), size_gib=500.0, launched="2019-06-01")
    read_options = ReadOptions(since="2026-01-01", profile="p", max_api_calls=5, counts=(Path("r.csv"),))

    assert (
        "plimsoll plan x --identifier 'a b' --instance i.json --size-gib 500 --launched 2019-06-01 "
        "--from 2026-01-01 --profile p --counts r.csv --max-api-calls 5"
    ) == plan_command(target_of("x"), flags, read_options)


def test_a_plan_that_cannot_be_made_leaves_the_report(run, tmp_path):
    """The status is that of the diagnosis, and one sentence says why there is no plan."""
    page = tmp_path / "page.html"
    alone = run("diagnose", PRESSED, "--last", "14h")
    ran = run("diagnose", PRESSED, "--last", "14h", "--plan", "--html", page)

    assert alone.out.rstrip() == ran.out.rstrip()
    assert alone.status == ran.status != 2
    assert "error: no plan: the window of 14 h is shorter than a day" in ran.err
    assert "claims-pipeline" in page.read_text(encoding="utf-8")


def test_a_plan_that_crashes_leaves_the_report(run, tmp_path, monkeypatch):
    """It ends with 2, for no crash ends with an answer; what was found is printed and written."""
    page = tmp_path / "page.html"

    def crash(*_, **__):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(diagnose_command, "plan_snapshot", crash)
    ran = run("diagnose", PRESSED, "--plan", "--html", page)

    assert 2 == ran.status
    assert ran.out.startswith("claims-pipeline (db.t3.xlarge)")
    assert "error: no plan: plimsoll" in ran.err
    assert "made a mistake: ZeroDivisionError" in ran.err
    assert "planted" not in ran.err
    assert "claims-pipeline" in page.read_text(encoding="utf-8")


def test_a_plan_that_cannot_be_drawn_leaves_the_page(run, tmp_path, monkeypatch):
    """The page is written without it."""
    from plimsoll.reports.diagnosis import document

    whole = document.diagnosis_document
    page = tmp_path / "page.html"

    def crash(diagnosis, snapshot, inspection=None, plan=None):
        if plan is not None:
            raise ZeroDivisionError
        return whole(diagnosis, snapshot, inspection)

    monkeypatch.setattr(document, "diagnosis_document", crash)
    ran = run("diagnose", PRESSED, "--plan", "--html", page)

    assert 2 == ran.status
    assert "error: no plan: plimsoll" in ran.err
    assert "claims-pipeline" in page.read_text(encoding="utf-8")


def test_an_instance_at_its_ceiling_but_for_its_first_burst_is_planned(tmp_path, run):
    """The free minutes are the job's own burst: nothing can be spread, and nothing crashes."""
    snapshot = decode_snapshot((PRESSED / "snapshot.json").read_bytes())
    start_s = snapshot.window_s[0] + 330 * 60
    at = "--from", np.datetime64(start_s, "s"), "--to", np.datetime64(start_s + 775 * 60, "s")
    ran = run("plan", PRESSED, *at, "--allow", "short-window")

    assert (1, "") == (ran.status, ran.err)


def test_it_says_what_a_source_no_longer_knows_after_the_step():
    """RDS describes an instance as it is, so class and storage of before are part of the command."""
    found = check_command(
        target_of("rds:claims"), InstanceOptions(), ReadOptions(region="eu-west-1"), before=NOW, after=NEW
    )

    assert (
        "plimsoll compare rds:claims --at MOMENT --class-a db.t3.xlarge --storage-a gp2 "
        "--size-gib-a 1200 --region eu-west-1"
    ) == found


def test_every_option_of_it_is_one_that_compare_has():
    """With a moment in place of MOMENT it runs as it was printed."""
    storage = Storage(kind="gp3", size_gib=400.0, provisioned_ops_per_s=12_000.0)
    instance = Instance(db_class="db.r5.large", storage=storage)
    read_options = ReadOptions(last="14d", profile="ops", match=("a=b",), max_api_calls=50)
    found = check_command(
        target_of("prom:http://host"), InstanceOptions(engine="postgres"), read_options, before=instance, after=NEW
    )
    app = typer.Typer()
    register(app)
    parsed = typer.main.get_command(app).make_context("compare", shlex.split(found)[2:])

    assert ("MOMENT", "db.r5.large", 12_000.0) == tuple(
        parsed.params[name] for name in ("options_split_at", "options_of_a_db_class", "options_of_a_iops")
    )


def test_a_file_is_compared_with_one_of_after_the_step():
    """What was typed of the present instance is said of both sides; what the file says is not repeated."""
    flags = InstanceOptions(db_class="db.t3.xlarge", engine="postgres", size_gib=1200.0)
    typed = check_command(target_of("my export.csv"), flags, ReadOptions(region="eu-west-1"), before=NOW, after=NEW)
    found = check_command(target_of("snapshot.json"), InstanceOptions(), ReadOptions(), before=NOW, after=NEW)

    assert (
        "plimsoll compare 'my export.csv' AFTER --class-a db.t3.xlarge --size-gib-a 1200 "
        "--class-b db.m6g.xlarge --size-gib-b 1200 --engine postgres"
    ) == typed
    assert "plimsoll compare snapshot.json AFTER" == found
