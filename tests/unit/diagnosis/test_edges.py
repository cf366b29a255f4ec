"""Cases at the edges that once went wrong, from the frame to the command line."""

import json
import sys
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import builders
from builders import RATES, START_S
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.cli.main import main
from plimsoll.diagnosis.balance import bucket_fits
from plimsoll.diagnosis.frame import frame_of
from plimsoll.model.metric import Metric
from plimsoll.reports.diagnosis.json import render_json
from plimsoll.units import format_bytes_per_s


def rates_only(seed):
    rng = np.random.default_rng(seed)
    w = builders.wander
    r = np.concatenate((20e6 * w(rng, 180, 0.2), 60e6 * w(rng, 120, 0.002), 20e6 * w(rng, 180, 0.2)))
    v = builders.storage(r, size_bytes=16384 * w(rng, r.size, 0.05))
    return builders.snapshot({m: v[m] for m in RATES})


def test_a_steady_producer_without_latency_and_catalog_is_not_accused():
    """Without latency and queue only a documented number or an empty balance carries the claim."""
    assert 0 == sum(bool(diagnose_snapshot(rates_only(s)).intervals) for s in range(20))


def test_an_interval_ends_with_the_window():
    rng = np.random.default_rng(1)
    demand = np.concatenate((20e6 * builders.wander(rng, 300, 0.3), np.full(300, 200e6)))
    v = builders.held_at(demand, 100e6, rng=rng, size_bytes=16384 * builders.wander(rng, 600, 0.05))
    every = []
    for m, x in v.items():
        t = START_S + 60 * np.arange(600)
        times = np.concatenate((t[:400], t[400::5]))
        every.append(builders.timed(m, times, np.concatenate((x[:400], x[400:].reshape(-1, 5).mean(1)))))
    d = diagnose_snapshot(builders.snapshot(*every))
    assert d.intervals[-1].end_s <= d.window_s[1]


@pytest.mark.parametrize("seed", [2, 3])
def test_missing_rows_of_rates_are_a_hole_for_the_bucket(seed):
    rng = np.random.default_rng(seed)
    blocks = np.repeat(80e6 * rng.uniform(0.1, 2.6, 24), 30)
    rate = blocks * builders.wander(rng, 720, 0.1)
    bal = builders.bucket_balance(rate, baseline=80e6, capacity=600e9, start_ratio=0.7)
    bal = builders.series(Metric.BYTE_BALANCE_RATIO, bal.reshape(-1, 5).mean(1).round(2), step_s=300)
    keep = np.ones(720, bool)
    keep[240:300] = False
    t = START_S + 60 * np.arange(720)
    values = builders.storage(rate).items()
    rows = [builders.timed(m, t[keep], x[keep]) for m, x in values]
    nans = [builders.timed(m, t, np.where(keep, x, np.nan)) for m, x in values]
    (one,), (other,) = (bucket_fits(frame_of(builders.snapshot(*every)), {bal.metric: bal}) for every in (rows, nans))
    # A missing row and a NaN are the same gap.
    assert (one.capacity, one.baseline) == (other.capacity, other.baseline)


def test_json_without_storage_follows_the_schema():
    schema = json.loads((files("plimsoll.reports") / "schema/report.schema.json").read_text())
    d = diagnose_snapshot(builders.snapshot({Metric.CPU_RATIO: np.full(60, 0.3)}))
    jsonschema.validate(json.loads(render_json(d)), schema)


def test_each_unknown_level_has_its_own_first_moment():
    rng = np.random.default_rng(5)
    n = 300
    limit = np.repeat([100e6, 37e6], [n, 2 * n])
    demand = np.concatenate(
        (
            10e6 * builders.wander(rng, 200, 0.3),
            np.full(n, 400e6),
            10e6 * builders.wander(rng, 200, 0.3),
            np.full(n, 400e6),
        )
    )
    limit = np.repeat([100e6, 37e6], [500, 500])
    v = builders.held_at(demand, limit, rng=rng, size_bytes=16384 * builders.wander(rng, 1000, 0.05), waiting=20)
    d = diagnose_snapshot(builders.snapshot(v))
    assert 2 == len(d.time_at)
    firsts = {f.title.split("first at ")[1][:16] for f in d.findings if "first at" in f.title}
    assert 2 == len(firsts)


def test_a_legacy_burst_is_lifted_by_a_restart_too():
    d = diagnose_snapshot(read("search-service"))
    burst = [f for f in d.findings if "437.5" in f.title]
    assert "Stop and start" in burst[0].moves[0]


def read(name):
    from contract.tree import ROOT
    from plimsoll.app.options import InstanceOptions
    from plimsoll.app.read import read_target

    return read_target(str(ROOT / "examples" / name), InstanceOptions())


@pytest.mark.parametrize("arguments", [["--nope"], ["--format", "xml"], ["--width", "10"], []])
def test_flags_that_do_not_parse_are_an_error_and_a_hint(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["plimsoll", "diagnose", *(["x"] if arguments else []), *arguments])
    with pytest.raises(SystemExit):
        main()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")


def test_a_misspelt_size_names_the_size_meant():
    from plimsoll.catalog.load import catalog
    from plimsoll.errors import CatalogError

    with pytest.raises(CatalogError) as e:
        catalog().instance_limits("db.m5.lage")
    assert "db.m5.large" in e.value.hint


def test_unknown_has_no_unit():
    assert "unknown" == format_bytes_per_s(float("nan"))
