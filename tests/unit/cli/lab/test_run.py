"""How `plimsoll lab postgres` puts its parts together; the run itself is a simulated record."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import databases
from plimsoll.app.options import InstanceOptions
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.units import GIB, MIB
from plimsoll_lab.cli.lab import run as lab_run
from plimsoll_lab.cli.lab.run import LabFlags, plan_of, run_postgres
from plimsoll_lab.gate.record import snapshot_of, truth_of
from plimsoll_lab.load.workload import LoadPace
from plimsoll_lab.model.lab import LabProgress
from plimsoll_lab.sessions import mysql
from plimsoll_lab.sessions.mysql import MySqlPlan
from plimsoll_lab.sessions.postgres import PostgresPlan
from plimsoll_lab.sessions.session import Outcome, progress_of
from unit.gate.cgroup_double import simulate_cgroup
from unit.lab.fixture_record import BEGAN_S, record
from unit.lab.sessions.test_session import status


def flags(**changes: object) -> LabFlags:
    given = {
        "instance": InstanceOptions(db_class="t3.xlarge", storage="gp2", size_gib=1000),
        "clock": 60.0,
        "credits": 0.2,
        "memory": "512MiB",
        "workload": "scan",
        "duration": "30s",
        "clients": 16,
        "rate": None,
        "scale": None,
        "pg_bin": None,
        "keeps": False,
        "output": None,
        "html": None,
        "width": 80,
        "is_inspecting": False,
    }
    return LabFlags(**{**given, **changes})


def outcome(plan: PostgresPlan, **load: float) -> Outcome:
    lines = record(plan.setup, seconds=plan.duration_s, **load)
    return Outcome(
        setup=plan.setup,
        snapshot=snapshot_of(lines, plan.setup),
        truth=truth_of(lines),
        changes=(),
        pace=LoadPace(transactions_per_s=12.3, latency_s=0.081),
        was_interrupted=False,
        kept=Path("/var/tmp/plimsoll-lab-1/disk/data") if plan.keeps else None,
    )


@pytest.fixture
def lab(monkeypatch):
    """A lab whose runs are simulated: progress at four moments, then a record under the given load."""

    def simulated(**load: float) -> None:
        def run(plan, facts, *, report_progress, print_line, watch=None) -> Outcome:
            print_line("making tables")
            for elapsed_s in (4.0, 5.0, 6.0, float(plan.duration_s)):
                report_progress(progress(plan, elapsed_s))
            done = outcome(plan, **load)
            if watch is None:
                return done
            return replace(done, snapshot=replace(done.snapshot, observation=watch("port=1")()))

        monkeypatch.setattr(lab_run, "run_lab", run)

    return simulated


def progress(plan: PostgresPlan, elapsed_s: float) -> LabProgress:
    now = status(plan.setup, bytes_per_s=300e6, left=0.5)
    return progress_of(now, recent=[now], elapsed_s=elapsed_s, duration_s=plan.duration_s, transactions_per_s=12.3)


def test_flags_become_a_plan():
    """The class gets its prefix, storage its engine, and the tables exceed the memory."""
    plan = plan_of(flags())

    assert ("db.t3.xlarge", "postgres") == (plan.setup.instance.db_class, plan.setup.instance.engine)
    assert (60.0, 0.2, 30) == (plan.setup.clock, plan.setup.credits, plan.duration_s)
    assert 512 * MIB == plan.memory_bytes
    assert 2 * plan.memory_bytes <= plan.dataset.size_bytes
    assert ("scan", 16) == (plan.dataset.kind, plan.dataset.table_count)


def test_the_report_has_the_truth_beside_it_and_the_status_of_a_diagnosis(lab, capsys):
    """Something binds: 1. The report is standard output, everything else is not."""
    lab()

    assert 1 == run_postgres(flags(width=120))
    result = capsys.readouterr()
    text = " ".join(result.out.split())
    assert "GROUND TRUTH" in text
    assert "The diagnosis agrees with it." in text
    assert "instance EBS throughput, baseline, 86.875 MB/s" in text
    assert "making tables" in result.err
    assert "done: 12.3 transactions/s, 81 ms each" in result.err
    assert "making tables" not in result.out


@pytest.fixture
def busy(monkeypatch) -> list[str]:
    """A database that is asked to write 4.34 GB in a real minute of watching; the DSNs that were watched."""
    asked = []

    class Watching:
        def __init__(self, dsn: str, _print_line) -> None:
            asked.append(dsn)

        def end(self):
            rows = [databases.io_row("client backend", written_bytes=b) for b in (0.0, 4.34e9)]
            return databases.observation(
                databases.reading(BEGAN_S, io=(rows[0],)), databases.reading(BEGAN_S + 60, io=(rows[1],))
            )

    monkeypatch.setattr(lab_run, "Observing", Watching)
    return asked


def test_what_the_database_said_stands_in_the_report(lab, busy, capsys, tmp_path):
    """Held against the ceiling that bound, in real bytes per real second, whatever the credit clock."""
    lab()
    given = flags(
        width=120, is_inspecting=True, duration="60s", output=tmp_path / "run.json", html=tmp_path / "run.html"
    )
    run_postgres(given)
    output = " ".join(capsys.readouterr().out.split())
    kept = decode_snapshot((tmp_path / "run.json").read_bytes())

    assert ["port=1"] == busy
    assert "Writes 72.3 MB/s" in output
    assert "86.875 MB/s, instance EBS throughput, baseline: 83 % of it is taken" in output
    assert "the ceiling's times use credit clock 60, where a minute lasts 1 s" in output
    assert "another time" not in output
    assert output.index("CAUSES") < output.index("GROUND TRUTH")
    assert 60 == kept.observation.seconds
    assert 60 == kept.credit_clock.ratio
    assert '<h2 id="causes">' in (tmp_path / "run.html").read_text()


def test_nobody_is_watched_unasked(lab, busy, capsys):
    """Without --inspect the report has no causes."""
    lab()
    run_postgres(flags())

    assert [] == busy
    assert "CAUSES" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("load", "status", "said"),
    [({"demand_ops_per_s": 100, "size_bytes": 8192}, 0, ""), ({"late_ratio": 0.2}, 2, "This run is void")],
    ids=["nothing binds", "the machine is too slow"],
)
def test_the_status_is_that_of_a_diagnosis_unless_it_proves_nothing(lab, capsys, load: dict, status: int, said: str):
    lab(**load)

    assert status == run_postgres(flags())
    assert said in " ".join(capsys.readouterr().out.split())


def test_without_a_terminal_there_is_a_line_for_ten_emulated_minutes(lab, capsys):
    """And one at the end; the clock stands in each."""
    lab()
    run_postgres(flags(clock=120.0))
    lines = [line for line in capsys.readouterr().err.splitlines() if "emulated minute" in line]

    assert ["emulated minute 10 of 60", "emulated minute 60 of 60"] == [
        line.split(" (")[0] for line in lines if line.startswith("emulated minute")
    ]
    assert all("clock 120" in line for line in lines)


def test_snapshot_truth_and_page_are_saved(lab, tmp_path, capsys):
    """The truth lies beside the snapshot; where a kept database lies is told."""
    lab()
    run_postgres(flags(output=tmp_path / "run.json", html=tmp_path / "run.html", keeps=True))
    output = capsys.readouterr().err

    assert ["run.html", "run.json", "run.truth.json"] == sorted(p.name for p in tmp_path.iterdir())
    assert "database kept in /var/tmp/plimsoll-lab-1/disk/data" in output


def test_tables_that_fit_the_memory_are_told(lab, capsys):
    """A small scale is the user's choice, but its result would be a riddle."""
    lab()
    run_postgres(flags(scale=1))

    assert "fit in memory" in capsys.readouterr().err


def test_the_command_line_reaches_the_plan(monkeypatch):
    """Every option arrives."""
    seen: list[LabFlags] = []
    monkeypatch.setattr(lab_run, "run_postgres", lambda given: seen.append(given) or 0)
    words = (
        "lab postgres --class db.t3.xlarge --storage gp2 --size-gib 1000 --workload select --for 90s "
        "--clock 120 --credits 0.1 --clients 4 --scale 7 --memory 1GiB --keep --pg-bin /opt/pg/bin "
        "-o run.json --html run.html --width 100 --launched 2019-06-01 --inspect --rate 40"
    )
    result = CliRunner().invoke(app, words.split())
    expected = flags(
        instance=InstanceOptions(db_class="db.t3.xlarge", storage="gp2", size_gib=1000, launched="2019-06-01"),
        workload="select",
        duration="90s",
        clock=120.0,
        credits=0.1,
        rate=40.0,
        clients=4,
        scale=7,
        memory="1GiB",
        keeps=True,
        pg_bin=Path("/opt/pg/bin"),
        output=Path("run.json"),
        html=Path("run.html"),
        width=100,
        is_inspecting=True,
    )

    assert 0 == result.exit_code
    assert [expected] == seen


@pytest.fixture
def plans(monkeypatch) -> list[PostgresPlan | MySqlPlan]:
    """The plans of all runs, each of which ends where it would begin."""
    found: list[PostgresPlan | MySqlPlan] = []

    def stop(plan: PostgresPlan | MySqlPlan, facts: object, **ways: object) -> Outcome:
        found.append(plan)
        raise UsageError("seen", "Go on.")

    monkeypatch.setattr(lab_run, "run_lab", stop)
    monkeypatch.setattr(mysql, "run_mysql", stop)
    return found


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_with_cpu_gives_the_server_the_size_of_the_class(engine: str, plans, tmp_path, monkeypatch):
    """The plan has a control group with its vCPUs and its memory; without the option it has none."""
    simulate_cgroup(tmp_path, monkeypatch)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(4)))
    words = ["lab", engine, "--class", "db.m6g.large", "--storage", "gp3", "--size-gib", "400"]
    CliRunner().invoke(app, [*words, "--with-cpu"])
    CliRunner().invoke(app, words)
    group = plans[0].group

    assert group is not None
    assert (2, 8 * GIB) == (group.vcpu_count, group.memory_bytes)
    assert plans[1].group is None


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
@pytest.mark.parametrize(
    ("bought", "expected"),
    [
        (("--class", "db.m6g.large", "--storage", "gp3"), "does not control cpu and memory"),
        (("--storage", "gp3"), "--with-cpu needs a class"),
    ],
    ids=["elsewhere", "no class"],
)
def test_with_cpu_is_refused_with_the_reason(
    engine: str, bought: tuple[str, ...], expected: str, tmp_path, monkeypatch
):
    """As 'gate run' refuses it, and before anything starts."""
    root = simulate_cgroup(tmp_path, monkeypatch)
    (root / "cgroup.controllers").write_text("hugetlb\n")
    monkeypatch.setattr(lab_run, "run_lab", None)
    monkeypatch.setattr(mysql, "run_mysql", None)
    words = ["lab", engine, *bought, "--size-gib", "400", "--with-cpu"]
    refusal = CliRunner().invoke(app, words).exception

    assert isinstance(refusal, UsageError)
    assert expected in refusal.message


@pytest.mark.parametrize(("engine", "count"), [("postgres", 3), ("mysql", 1)])
def test_the_commands_of_the_documents_are_ones_that_run(engine: str, count: int, plans):
    """README.md and the guide show commands for each server, with every option that a run needs."""
    root = Path(__file__).parents[4]
    pages = [root / "README.md", root / "docs/guides/borrow-an-instance.md"]
    lines = "\n".join(page.read_text(encoding="utf-8") for page in pages).replace("\\\n", " ")
    shown = [line for line in lines.splitlines() if line.startswith(f"plimsoll lab {engine} ")]
    for line in shown:
        CliRunner().invoke(app, line.split()[1:])

    assert [count, count] == [len(shown), len(plans)]
