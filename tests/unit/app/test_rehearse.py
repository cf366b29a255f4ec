"""A rehearsal of a sample that was measured: which classes come first, and what is said of prices."""

from pathlib import Path

import pytest

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.app.rehearse import RehearsalRequest, rehearsal_of
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.rehearse.law import times
from plimsoll.load.rehearse.law.cost import Case
from plimsoll.load.rehearse.measure import Measured
from plimsoll.load.rehearse.sample import FileSample, RowOrigin
from plimsoll.model.instance import Instance
from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.snapshot import Snapshot
from rehearsals import FIXED, GB, SAMPLE, SERVER, around

PRESENT = "db.m5.xlarge"


def rehearsed(**flags) -> Rehearsal:
    """100 GB on a db.m5.xlarge, whose volume alone limits the load: on every class it takes as long."""
    given = InstanceOptions(db_class=PRESENT, storage="gp3", size_gib=1000)
    instance = with_flags(Instance(engine="postgres", **flags), given)
    request = RehearsalRequest(
        files=("a.csv",), table="t", dsn="", copy=CopyOptions(is_csv=True), instance=given
    )
    return rehearsal_of(
        request,
        Snapshot(instance=instance, series={}, source=""),
        around(FIXED),
        Measured(sample=SAMPLE, server=SERVER, seconds=1.0, notes=()),
        FileSample(
            path=Path("a.csv"),
            header=b"",
            ends=(10,),
            origins=(RowOrigin(name="a.csv", line=1),),
            sample_bytes=10,
            input_bytes=int(100 * GB),
        ),
        "public.t",
    )


def test_without_a_region_equal_times_are_in_order_of_size_then_generation():
    """
    A small class of the newest generation can be bought at once; the alphabet begins with db.c.
    """
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


def test_the_present_instance_is_replayed_once(monkeypatch: pytest.MonkeyPatch):
    """
    Its time and its work are of the same replay: one for each case.
    """
    replayed, forecast = [], times.forecast

    def counted(sample, server, circumstances, **rest):
        replayed.append(circumstances.chain)
        return forecast(sample, server, circumstances, **rest)

    monkeypatch.setattr(times, "forecast", counted)
    rehearsed()

    assert len(Case) == replayed.count((FIXED,))
