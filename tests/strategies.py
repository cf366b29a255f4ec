"""Hypothesis strategies for the nouns: series, instances and snapshots that could be real."""

import numpy as np
from hypothesis import strategies as st

from plimsoll.model.instance import EbsLimits, Instance, Storage
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Annotation, Gap, Snapshot

MOST: dict[str, float] = {
    "bytes/s": 2e10,
    "ops/s": 4e5,
    "s": 60.0,
    "requests": 5e3,
    "ratio": 1.0,
    "bytes": 7e13,
    "count": 2e4,
    "credits": 1e4,
}
"""The largest value drawn, by unit: near what the largest instance can show."""

EARLIEST_S, LATEST_S = 1_230_768_000, 1_893_456_000
"""2009, when RDS began, to 2030."""

STEPS_S = (1, 5, 10, 15, 30, 60, 300, 3600)

words = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20)
sentences = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=60)
identifiers = words.map(lambda word: f"db-{word}")

_bought = {
    "kind": st.none() | st.sampled_from(["gp2", "gp3", "io1", "io2", "standard", "aurora"]),
    "size_gib": st.none() | st.floats(5, 65_536),
    "provisioned_ops_per_s": st.none() | st.floats(1_000, 256_000),
    "provisioned_bytes_per_s": st.none() | st.floats(1e8, 4e9),
    "volume_count": st.none() | st.sampled_from([1, 4]),
}
storages = st.builds(Storage, additional=st.lists(st.builds(Storage, **_bought), max_size=2).map(tuple), **_bought)
"""What was bought; additional storage is drawn with any engine, as a file may hold it."""

ebs_limits = st.builds(
    EbsLimits,
    baseline_bytes_per_s=st.just(0.0) | st.floats(1e6, 1e9),
    burst_bytes_per_s=st.floats(1e9, 5e9),
    baseline_ops_per_s=st.just(0.0) | st.floats(100, 2e4),
    burst_ops_per_s=st.floats(2e4, 4e5),
    source=st.just("ec2:DescribeInstanceTypes of r5.2xlarge"),
    read_on=st.just("2026-11-20"),
)
"""What EC2 says; a baseline of zero is no answer."""

instances = st.builds(
    Instance,
    identifier=identifiers,
    db_class=st.none() | st.sampled_from(["db.r5.2xlarge", "db.t3.xlarge", "db.m6g.large", "db.serverless"]),
    engine=st.none() | st.sampled_from(["postgres", "mysql", "oracle-se2", "aurora-postgresql", "aurora-mysql"]),
    engine_version=st.none() | st.sampled_from(["12.5", "16.4", "8.0.35"]),
    license_model=st.none() | st.sampled_from(["license-included", "postgresql-license"]),
    region=st.none() | st.sampled_from(["us-east-1", "eu-west-1"]),
    multi_az=st.none() | st.booleans(),
    storage=storages,
    launched_s=st.none() | st.integers(EARLIEST_S, LATEST_S),
    connection_max=st.none() | st.integers(20, 10_000),
    vcpu_count=st.none() | st.sampled_from([2, 4, 8, 96]),
    memory_bytes=st.none() | st.integers(2**30, 2**45),
    ebs_limits=st.none() | ebs_limits,
    capacity_acu_max=st.none() | st.floats(0, 300),
    pending=st.lists(sentences, max_size=2).map(tuple),
)


@st.composite
def series(
    draw: st.DrawFn,
    metric: Metric | None = None,
    *,
    min_size: int = 0,
    max_size: int = 40,
    may_have_nan: bool = False,
    is_regular: bool | None = None,
    start_s: int | None = None,
) -> Series:
    """
    A series in our units, with gaps.

    Args:
        metric: None draws one.
        may_have_nan: whether samples may say nothing, as recordings of a host do.
        is_regular: times on a grid of the step (True), anywhere (False), or either (None).
        start_s: no sample is before it; None draws one.
    """
    metric = draw(st.sampled_from(Metric)) if metric is None else metric
    step_s = draw(st.sampled_from(STEPS_S))
    start_s = draw(st.integers(EARLIEST_S, LATEST_S)) if start_s is None else start_s
    on_grid = draw(st.booleans()) if is_regular is None else is_regular
    offsets = draw(
        st.lists(
            st.integers(0, 4 * max_size * (1 if on_grid else step_s)), unique=True, min_size=min_size, max_size=max_size
        )
    )
    time_s = start_s + np.sort(np.array(offsets, dtype=np.int64)) * (step_s if on_grid else 1)
    number = st.floats(0, MOST[METRICS[metric].unit])
    if may_have_nan:
        number |= st.just(float("nan"))
    value = draw(st.lists(number, min_size=time_s.size, max_size=time_s.size))
    return Series(metric=metric, step_s=step_s, time_s=time_s, value=np.array(value, dtype=np.float64))


gaps = st.builds(Gap, metric=words, reason=sentences, remedy=sentences)
annotations = st.builds(Annotation, time_s=st.integers(EARLIEST_S, LATEST_S), text=sentences)


@st.composite
def snapshots(
    draw: st.DrawFn, *, metrics: tuple[Metric, ...] | None = None, max_size: int = 40, may_have_nan: bool = False
) -> Snapshot:
    """
    A snapshot of one window.

    Args:
        metrics: which series it has; None draws a selection, possibly none.
        max_size: most samples of each series.
    """
    chosen = draw(st.lists(st.sampled_from(Metric), unique=True)) if metrics is None else metrics
    start_s = draw(st.integers(EARLIEST_S, LATEST_S))
    drawn = [draw(series(m, max_size=max_size, may_have_nan=may_have_nan, start_s=start_s)) for m in chosen]
    return Snapshot(
        instance=draw(instances),
        series={s.metric: s for s in drawn},
        source=draw(sentences),
        is_simulated=draw(st.booleans()),
        note=draw(sentences),
        gaps=tuple(draw(st.lists(gaps, max_size=3))),
        annotations=tuple(draw(st.lists(annotations, max_size=3))),
    )
