"""A rehearsal of a sample that was measured: which classes come first, and what is said of prices."""

import dataclasses
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from contract.tree import ROOT
from plimsoll.app import rehearse as app
from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.app.pace import ceilings_to_pace
from plimsoll.app.rehearse import RehearsalRequest, rehearsal_of
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.rehearse.law import times
from plimsoll.load.rehearse.law.cost import Case
from plimsoll.load.rehearse.measure import Measured
from plimsoll.load.rehearse.sample import FileSample, RowOrigin
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance
from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.snapshot import Snapshot
from rehearsals import FIXED, GB, SAMPLE, SERVER, around

PRESENT = "db.m5.xlarge"
SMALL = InstanceOptions(db_class="db.t3.micro", storage="gp3", size_gib=100, launched="2024-01-01")


def rehearsed(**flags) -> Rehearsal:
    """100 GB on a db.m5.xlarge, whose volume alone limits the load: on every class it takes as long."""
    given = InstanceOptions(db_class=PRESENT, storage="gp3", size_gib=1000)
    instance = with_flags(Instance(engine="postgres", **flags), given)
    request = RehearsalRequest(files=("a.csv",), table="t", dsn="", copy=CopyOptions(is_csv=True), instance=given)
    return rehearsal_of(
        request,
        Snapshot(instance=instance, series={}, source=""),
        around(FIXED),
        Measured(sample=SAMPLE, server=SERVER, seconds=1.0, notes=()),
        FileSample(
            file=None,
            header=b"",
            ends=(10,),
            origins=(RowOrigin(name="a.csv", line=1),),
            sample_bytes=10,
            input_bytes=int(100 * GB),
        ),
        "public.t",
    )


def test_without_a_region_equal_times_are_in_order_of_size_then_generation():
    """A small class of the newest generation can be bought at once; the alphabet begins with db.c."""
    found = rehearsed()
    seconds = [float(f"{one.seconds.high:.3g}") for one in found.classes]
    slowest = [one.db_class for one in found.classes if one.seconds.high == max(seconds)]
    xlarge = [int(name[4]) for name in slowest if name.endswith(".xlarge")]

    assert len(set(seconds)) < len(seconds) / 2
    assert seconds == sorted(seconds)
    assert xlarge == sorted(xlarge, reverse=True)
    assert any("--region orders classes by price" in note for note in found.notes)


def test_with_a_region_price_decides_and_nothing_is_said_of_it():
    found = rehearsed(region="us-east-1")
    prices = [one.usd_per_day_more for one in found.classes if one.usd_per_day_more is not None]

    assert prices
    assert prices == sorted(prices)
    assert not any("--region" in note for note in found.notes)


class _Scratch:
    like = "public.t"
    left = ()


@pytest.fixture
def run_without_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that rehearses a file whose sample was measured elsewhere."""

    @contextmanager
    def scratch_table(*_):
        yield _Scratch()

    # So fast that storage alone decides.
    sample = dataclasses.replace(SAMPLE, rates_bytes_per_s=(10 * GB,), wal_bytes=1e3)
    measured = Measured(sample=sample, server=SERVER, seconds=1.0, notes=())
    monkeypatch.setattr(app, "scratch_table", scratch_table)
    monkeypatch.setattr(app, "measure", lambda *_, **__: measured)
    (tmp_path / "a.csv").write_text("1,a\n" * 1_000_000)

    def run(**fields) -> Rehearsal:
        given = {
            "files": (str(tmp_path / "a.csv"),),
            "table": "t",
            "dsn": "",
            "copy": CopyOptions(is_csv=True),
            "instance": SMALL,
            **fields,
        }
        return app.rehearse(RehearsalRequest(**given))

    return run


def test_without_a_target_it_is_the_pace_of_a_load(run_without_server):
    """Half of each baseline and no credits, as `load` grants with the same options; other classes on the same terms."""
    found = run_without_server()
    (small,) = (one for one in found.classes if one.db_class == "db.t3.small")

    assert found.present.seconds.likely is not None
    assert found.present.end_per_s == pytest.approx(granted("db.t3.micro"), rel=0.001)
    assert small.end_per_s == pytest.approx(granted("db.t3.small"), rel=0.001)
    assert "there are no recent metrics, so a load gets 50 % of each baseline, and no credits" in (found.notes)
    assert not any("full credits" in note for note in found.notes)


def granted(db_class: str) -> float:
    """What the pace of a load without metrics grants of the throughput of a class."""
    bought = with_flags(Instance(engine="postgres"), replace(SMALL, db_class=db_class))
    chain, _ = ceilings_to_pace(bought)
    (one,) = (
        one
        for one in PaceController(chain, PaceTerms()).allowance(0.0).ceilings
        if one.family is Family.INSTANCE_EBS_THROUGHPUT
    )
    return one.total_per_s


def test_with_metrics_credits_count(run_without_server):
    """For recorded metrics, now is their end."""
    found = run_without_server(target=str(ROOT / "examples/claims-pipeline"), instance=InstanceOptions())

    assert found.source
    assert not any("no recent metrics" in note for note in found.notes)
    assert any("full credits" in note for note in found.notes)


def test_the_present_instance_is_replayed_once(monkeypatch: pytest.MonkeyPatch):
    """Its time and its work are of the same replay: one for each case."""
    replayed, forecast = [], times.forecast

    def counted(sample, server, circumstances, **rest):
        replayed.append(circumstances.chain)
        return forecast(sample, server, circumstances, **rest)

    monkeypatch.setattr(times, "forecast", counted)
    rehearsed()

    assert len(Case) == replayed.count((FIXED,))
