"""`plimsoll plan`, as it is called; the plans themselves are made by hand."""

import json
import re
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

import builders
import plans
from contract.tree import ROOT
from plimsoll.app.plan import check_instance, check_window
from plimsoll.cli.diagnose import run as diagnose_run
from plimsoll.cli.plan import run as plan_run
from plimsoll.cli.plan.texts import allowed_ratio_of, factor_of, growth_of, prior_of, usd_of
from plimsoll.errors import DataError, UsageError
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement, PlanConstraints
from plimsoll.model.prior import Prior
from plimsoll.model.snapshot_file.codec import encode_snapshot
from unit.reports.fixture_diagnosis import CASES

SCHEMA = json.loads((files("plimsoll.reports") / "schema" / "plan.schema.json").read_text(encoding="utf-8"))
PRESSED = ROOT / "examples" / "claims-pipeline"
QUIET = ROOT / "examples" / "quiet"
DAY_STEPS = 1440


@pytest.fixture
def run(monkeypatch, run_program):
    """The command with a plan made by hand in place of the search; `constraints` are those that it passed on."""

    def call(*arguments, made=None):
        asked = []

        def planned(diagnosis, snapshot, constraints, prices=None):
            asked.append((snapshot, constraints, prices))
            return made or plans.claims()

        monkeypatch.setattr(plan_run, "plan_snapshot", planned)
        return SimpleNamespace(**run_program("plan", *arguments)._asdict(), constraints=asked[0] if asked else None)

    return call


def day(steps=DAY_STEPS, **instance):
    """A snapshot of so many minutes."""
    return builders.snapshot({Metric.READ_BYTES_PER_S: np.full(steps, 1e6)}, instance=Instance(**instance))


@pytest.fixture
def hour(tmp_path: Path) -> Path:
    """A recording of one hour."""
    file = tmp_path / "hour.json"
    file.write_bytes(encode_snapshot(day(60)))
    return file


@pytest.mark.parametrize(
    ("judgement", "status"), [(Judgement.LIFTS, 0), (Judgement.DOES_NOT, 1), (Judgement.UNSURE, 2)]
)
def test_the_exit_status_says_whether_a_way_past_is_needed(run, judgement, status):
    """0 where what is there suffices, 1 where a ceiling binds, 2 where it could not be told."""
    made = plans.claims(present=plans.present(judgement=judgement))

    assert status == run(PRESSED, made=made).status


def test_an_unknown_diagnosis_could_not_be_told():
    """Where the diagnosis is unknown the status is 2, whatever the plan says."""
    diagnosis, _ = CASES["quiet"]()

    assert 0 == plan_run.status_of(diagnosis, plans.quiet())
    assert 2 == plan_run.status_of(replace(diagnosis, verdict=Verdict.UNKNOWN), plans.quiet())


def test_wishes_are_passed_on_as_numbers(run):
    """Every option reaches the plan: shares as ratios, money as decimals, patterns in their order."""
    _, constraints, prices = run(
        *(PRESSED, "--slo", "0.5%", "--max-usd-per-day", "$12.50", "--keep-storage"),
        *("--multi-az", "--growth", "1.5x", "--discount", "20%", "--engine", "postgres"),
        *("--allow", "db.m6g.*", "--allow", "short-window", "--deny", "db.t*"),
        *("--prices", "offers.json"),
    ).constraints

    assert (
        PlanConstraints(
            allowed_ratio=0.005,
            usd_per_day_max=Decimal("12.50"),
            keep_storage=True,
            engine="postgres",
            multi_az=True,
            growth=1.5,
            allow=("db.m6g.*",),
            deny=("db.t*",),
            discount=Decimal("0.8"),
        )
        == constraints
    )
    assert Path("offers.json") == prices


def test_nothing_is_wished_for_unasked(run):
    """Without options one percent of the minutes is allowed; a region may be given for an export, which names none."""
    snapshot, constraints, _ = run(PRESSED, "--region", "eu-central-1").constraints

    assert PlanConstraints() == constraints
    assert "eu-central-1" == snapshot.instance.region


def test_each_form_is_printed(run):
    """Text, Markdown and JSON go to standard output, and nothing else does; a path is not broken."""
    text = run(PRESSED, "--width", 60)
    marked = run(PRESSED, "--format", "markdown")
    result = run(PRESSED, "--format", "json")

    assert text.out.startswith("db.m6g.xlarge with the storage")
    assert 60 >= max(len(line) for line in text.out.splitlines() if str(PRESSED) not in line)
    assert marked.out.startswith("# db.m6g.xlarge")
    assert "plimsoll.plan/1" == json.loads(result.out)["schema"]
    assert "" == text.err == marked.err == result.err


def test_files_are_written_and_named(run, tmp_path):
    """The page is the diagnosis with the plan in it; the chart is a picture."""
    page, chart = tmp_path / "page.html", tmp_path / "chart.png"
    ran = run(PRESSED, "--html", page, "--chart", chart)
    text = page.read_text(encoding="utf-8")

    assert "claims-pipeline" in text
    assert ">Plan<" in text
    assert chart.read_bytes().startswith(b"\x89PNG")
    assert f"report written to {page}" in ran.err
    assert f"picture written to {chart}" in ran.err


def test_a_day_is_long_enough():
    """Also where its last samples are late: 23 h 8 min are a day, and 20 h are not."""
    check_window(day(DAY_STEPS), is_short_allowed=False)
    check_window(day(23 * 60 + 8), is_short_allowed=False)
    with pytest.raises(DataError):
        check_window(day(20 * 60), is_short_allowed=False)


@pytest.mark.parametrize(
    ("instance", "has_limits", "message"),
    [
        ({}, True, "the class of 'unnamed' is not known"),
        ({"db_class": "db.r5.large"}, True, "the engine of 'unnamed' is not known"),
        ({"db_class": "db.r5.large", "engine": "postgres"}, True, "the region of 'unnamed' is not known"),
        (
            {"db_class": "db.new.large", "engine": "postgres", "region": "us-east-1"},
            False,
            "class 'db.new.large' has no documented limits",
        ),
        ({"db_class": "db.r5.large", "engine": "aurora-mysql", "region": "us-east-1"}, True, "'unnamed' is Aurora"),
    ],
)
def test_an_instance_that_cannot_be_compared_is_refused(instance, has_limits, message):
    """Without class, engine, region or limits there is nothing to compare: one sentence, one remedy."""
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        check_instance(Instance(**instance), has_limits=has_limits)

    assert caught.value.hint.endswith(".")


def test_shares_factors_and_amounts_are_read_as_people_write_them():
    """With percent sign or without, with a dollar sign or without, with an x or without."""
    assert (0.01, 0.01, 0.0) == tuple(allowed_ratio_of(text) for text in ("1%", "0.01", "0"))
    assert (Decimal("0.8"), Decimal(1)) == (factor_of("20%"), factor_of("0"))
    assert (2.0, 2.0, 1.5) == tuple(growth_of(text) for text in ("2x", "2", "1.5X"))
    assert Decimal("12.50") == usd_of("$12.50") == usd_of("12.50")
    assert Prior() == prior_of(())
    assert Prior(overload_median=1.4, lost=0.5, greedy=0) == prior_of(("median=1.4, lost=0.5", "greedy=0"))


def test_a_window_in_which_storage_was_not_measured_is_refused(run_program, tmp_path):
    """There is no demand to replay."""
    blind = builders.snapshot(
        {Metric.CPU_RATIO: np.full(DAY_STEPS, 0.3)},
        instance=Instance(db_class="db.r5.large", engine="postgres", region="us-east-1"),
    )
    (tmp_path / "blind.json").write_bytes(encode_snapshot(blind))

    assert "storage was not measured" in run_program("plan", tmp_path / "blind.json").err


@pytest.fixture
def diagnosed(monkeypatch, run_program):
    """`plimsoll diagnose --plan` with a plan made by hand in place of the search."""
    monkeypatch.setattr(diagnose_run, "plan_snapshot", lambda *_: plans.claims())
    return lambda *arguments: run_program("diagnose", *arguments, "--plan")


def test_a_diagnosis_can_be_followed_by_the_plan(diagnosed, tmp_path):
    """Text, Markdown and page gain the section; the exit status stays that of the diagnosis."""
    page = tmp_path / "page.html"
    text = diagnosed(PRESSED, "--html", page)
    marked = diagnosed(PRESSED, "--format", "markdown")

    assert 1 == text.status
    assert 0 == diagnosed(QUIET).status
    assert text.out.index("HOW IT WAS MEASURED") < text.out.index("\n\nPLAN\n")
    assert "\n\n## Plan\n\n" in marked.out
    assert ">Plan<" in page.read_text(encoding="utf-8")


def test_a_plan_behind_a_diagnosis_needs_a_day_too(diagnosed, hour):
    """An hour is diagnosed, but not planned for, and a sentence says so."""
    ran = diagnosed(hour)

    assert "PLAN" not in ran.out
    assert "HOW IT WAS MEASURED" in ran.out
    assert "error: no plan: the window of 1 h is shorter than a day" in ran.err


@pytest.mark.parametrize(("example", "status"), [("claims-pipeline", 1), ("search-service", 1), ("quiet", 0)])
def test_the_examples_are_planned_for(example, status, run_program):
    """With the search itself: the form is valid, the status is that of the story, nothing is ordered."""
    ran = run_program("plan", ROOT / "examples" / example, "--format", "json")
    report = json.loads(ran.out)

    assert status == ran.status
    assert [] == [e.message for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(report)]
    assert (status == 0) == report["is_observed"]


@pytest.mark.parametrize("example", ["claims-pipeline", "search-service"])
def test_no_example_says_zero_minutes_behind_a_ceiling(example, monkeypatch, run_program):
    """Whoever wrote a sentence of the plan, none says that no minute would be spent at a ceiling; in no form."""
    monkeypatch.setattr(plan_run, "plan_snapshot", once(plan_run.plan_snapshot))
    for form in ("text", "markdown"):
        output = " ".join(run_program("plan", ROOT / "examples" / example, "--format", form).out.split())

        assert "db." in output
        assert not re.search(r"(?<![0-9.,])(?:0(?:\.0+)?|no|zero) min(?:ute)?", output)
        assert not re.search(r"100 % of the (?:bytes|demand)", output)


def once(search):
    """A search whose first answer is that of every call."""
    found = []

    def searched(*arguments):
        found.extend([] if found else [search(*arguments)])
        return found[0]

    return searched


def test_the_license_that_is_said_goes_before_what_the_instance_says(run, tmp_path):
    """`--license` reaches the plan as AWS writes it, whatever the recording has."""
    file = tmp_path / "day.json"
    file.write_bytes(encode_snapshot(day(engine="oracle-se2", license_model="license-included")))

    there, _, _ = run(file, "--license", "Bring-Your-Own-License").constraints
    kept, _, _ = run(file).constraints

    assert "bring-your-own-license" == there.instance.license_model
    assert "license-included" == kept.instance.license_model
