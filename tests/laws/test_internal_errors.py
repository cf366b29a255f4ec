"""An internal error costs the part in which it happens, is said there, and never costs the answer."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

import databases
import watched
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import diagnose_fleet, exit_status
from plimsoll.app.plan import options_snapshot, plan_snapshot
from plimsoll.app.render import Report, render, render_brief
from plimsoll.causes import inspect as causes
from plimsoll.diagnosis import diagnose, findings, frame, headroom
from plimsoll.diagnosis.recognition import intervals, score, search
from plimsoll.errors import UsageError
from plimsoll.limits import volumes
from plimsoll.model.contained import collecting, guarded
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.plan import plan
from plimsoll.plan.judge.options import PlanContext
from plimsoll.reports.diagnosis import document, json
from plimsoll.watch.law import rulebook
from plimsoll.watch.law.rulebook import RULES, RuleTables, conditions_of

EXAMPLES = Path(__file__).parents[2] / "examples"
VALUE = "the value 4711 of somebody"
REPORT = "Please report this line"


def fails(*_, **__):
    """Fail as our own mistakes do."""
    raise IndexError(VALUE)


def example(name):
    return decode_snapshot((EXAMPLES / name / "snapshot.json").read_bytes())


@pytest.fixture(scope="module")
def busy():
    """A window in which a limit bound."""
    return example("search-service")


@pytest.fixture
def placed(busy):
    """The same of an instance for which there are prices."""
    return replace(busy, instance=replace(busy.instance, region="us-east-1", engine="postgres"))


@pytest.fixture(scope="module")
def quiet():
    """A window in which none did."""
    return example("quiet")


PARTS = [
    (frame, "on_grid"),
    (headroom, "_resource_of"),
    (search, "levels_of"),
    (diagnose, "waiting_of"),
    (diagnose, "judge"),
    (diagnose, "frame_of"),
    (diagnose, "missing_of"),
    (diagnose, "epochs_of"),
    (volumes, "together"),
]


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize(("module", "part"), PARTS, ids=lambda p: getattr(p, "__name__", p))
def test_where_a_part_could_hide_a_limit_nothing_is_slack(module, part, quiet, monkeypatch):
    """What is left is said, and the verdict is unknown, as with missing data."""
    assert Verdict.SLACK == diagnose_snapshot(quiet).verdict
    monkeypatch.setattr(module, part, fails)
    found = diagnose_snapshot(quiet)

    assert Verdict.UNKNOWN == found.verdict
    assert [] == [f for f in found.findings if f.code == findings.NOTHING_BOUND]
    assert any("internal error IndexError" in gap.remedy for gap in found.missing)
    assert VALUE not in render(Report(diagnosis=found, snapshot=quiet))


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize(
    ("module", "part"), [(search, "_accepted"), (intervals, "_interval"), (intervals, "refuted_by")]
)
def test_where_the_levels_that_bind_are_lost_nothing_is_slack(module, part, busy, monkeypatch):
    """A limit that bound is not shown then, and nothing says that none did."""
    monkeypatch.setattr(module, part, fails)
    found = diagnose_snapshot(busy)

    assert (Verdict.UNKNOWN, ()) == (found.verdict, found.intervals)
    assert "internal error IndexError" in found.missing[0].remedy


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("part", ["next_ceiling_of", "with_lookalikes", "loadings_of"])
def test_what_is_known_to_bind_stays_known(part, busy, monkeypatch):
    """A part beside the verdict costs itself only."""
    whole = diagnose_snapshot(busy)
    monkeypatch.setattr(diagnose, part, fails)
    found = diagnose_snapshot(busy)

    assert (Verdict.BINDS, whole.intervals) == (found.verdict, found.intervals)
    assert [REPORT] == [gap.remedy.rpartition(". ")[2] for gap in found.missing[:1]]


@pytest.mark.usefixtures("contained")
def test_a_sign_that_fails_costs_that_sign(busy, monkeypatch):
    """The others still find the limit."""
    kept = score.SIGNS[0]
    broken = SimpleNamespace(**{name: getattr(kept, name) for name in dir(kept) if not name.startswith("__")})
    broken.weigh = fails
    monkeypatch.setattr(score, "SIGNS", (broken, *score.SIGNS[1:]))
    found = diagnose_snapshot(busy)

    assert Verdict.BINDS == found.verdict
    assert f"the sign '{kept.name}'" == found.missing[0].name


SECTIONS = [
    ("text", document, "timeline_blocks"),
    ("markdown", document, "timeline_blocks"),
    ("html", document, "live_timeline"),
    ("json", json, "headline"),
    *((form, document, "_resource_row") for form in ("text", "markdown", "html")),
    *(("text", document, part) for part in ("headline", "_identity", "_why", "events_section", "_measured")),
]


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize(("form", "module", "part"), SECTIONS, ids=[f"{form} {part}" for form, _, part in SECTIONS])
def test_a_section_that_fails_costs_that_section(form, module, part, busy, monkeypatch):
    """All others are there, and the report names what is not."""
    report = Report(diagnosis=diagnose_snapshot(busy), snapshot=busy)
    whole = render(report, form)
    monkeypatch.setattr(module, part, fails)
    found = render(report, form)

    # Of long texts pytest would make a picture of the difference for minutes.
    shown = [one in " ".join(found.split()) for one in ("internal error IndexError", "search-service", VALUE)]
    assert ([True, True, False], 0) == (shown, whole.count("internal error IndexError"))


@pytest.mark.usefixtures("contained")
def test_a_short_report_has_a_verdict_without_its_details(busy, monkeypatch):
    """At three in the morning the first line counts."""
    report = Report(diagnosis=diagnose_snapshot(busy), snapshot=busy)
    monkeypatch.setattr(document, "moves_of", fails)

    assert "At a limit" in render_brief(report) or "Was at a limit" in render_brief(report)


@pytest.mark.usefixtures("contained")
def test_an_option_that_fails_costs_that_option(placed, monkeypatch):
    """The plan has the others, and a note."""
    diagnosis = diagnose_snapshot(placed)
    make = PlanContext.option
    count = iter(range(1000))

    def sometimes(*args, **fields):
        return fails() if next(count) == 1 else make(*args, **fields)

    monkeypatch.setattr(PlanContext, "option", sometimes)
    found = plan_snapshot(diagnosis, placed, PlanConstraints())

    assert found.options
    assert any("internal error IndexError" in note for note in found.notes)


@pytest.mark.usefixtures("contained")
def test_free_changes_that_fail_are_named_in_a_row_of_a_fleet(placed, monkeypatch):
    """The first options of a plan have no notes of their own, so what is lost stands beside them."""
    diagnosis = diagnose_snapshot(placed)
    monkeypatch.setattr(plan, "_free", fails)

    note = options_snapshot(diagnosis, placed, PlanConstraints()).lost[0]
    assert note.startswith("Not shown: free changes. It could not be evaluated: internal error")


@pytest.mark.usefixtures("contained")
def test_a_detector_that_fails_costs_that_detector(monkeypatch):
    """The gap says what could not be checked."""
    monkeypatch.setattr(causes, "DETECTORS", (fails, *causes.DETECTORS))
    seen = databases.observation(databases.reading(io=()), databases.reading(databases.START_S + 60, io=()))
    found = causes.inspect(seen)

    assert 1 == sum("internal error IndexError" in gap.remedy for gap in found.missing)


@pytest.mark.usefixtures("contained")
def test_a_rule_that_fails_costs_that_rule(monkeypatch):
    """All others are judged; an absent rule keeps what it remembered."""
    broken = {**RULES, "headroom": replace(RULES["headroom"], find=fails)}
    monkeypatch.setattr(rulebook, "RULES", broken)
    whole = {name for name, facts in RULES.items() if facts.find is not None}
    with collecting() as failed:
        found = conditions_of(watched.situation(), RuleTables())

    assert whole - {"headroom"} == set(found)
    assert ["rule headroom"] == [one.part for one in failed]


@pytest.mark.usefixtures("contained")
def test_an_instance_that_fails_costs_its_row(busy, quiet):
    """The others of a fleet have theirs, and the status says that one is not known."""

    def one_fails(snapshot):
        return fails() if snapshot is quiet else diagnose_snapshot(snapshot)

    found = diagnose_fleet(iter([quiet, busy, busy]), diagnose=one_fails, source="two")

    assert 2 == len(found.rows)
    assert "it could not be diagnosed: internal error IndexError" in found.unread[0].reason
    assert 2 == exit_status(diagnose_fleet(iter([quiet]), diagnose=one_fails, source="one"))
    assert "internal error" in render(found)


@pytest.mark.usefixtures("contained")
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, OSError, UsageError])
def test_a_wish_to_stop_and_errors_of_others_are_not_contained(error):
    """Ctrl-C ends the command, and what the user can mend is said as such."""

    def stop():
        raise error("stop")

    with collecting() as failed, pytest.raises(error):
        guarded("a part", stop, None)
    assert [] == failed


@pytest.mark.usefixtures("contained")
def test_an_assertion_is_an_internal_error():
    """Our own mistakes are assertions; their text is not printed."""

    def claim():
        raise AssertionError(VALUE)

    with collecting() as failed:
        assert 7 == guarded("a part", claim, 7)
    assert ["AssertionError"] == [one.error for one in failed]


def test_developers_see_internal_errors(quiet, monkeypatch):
    """In tests, in benches and with PLIMSOLL_TRACEBACK=1 nothing is contained."""
    monkeypatch.setattr(headroom, "_resource_of", fails)

    with pytest.raises(IndexError):
        diagnose_snapshot(quiet)


@pytest.mark.usefixtures("contained")
def test_where_nobody_collects_an_internal_error_is_raised():
    """So no part is lost without a word."""
    with pytest.raises(IndexError):
        guarded("a part", fails, np.nan)
