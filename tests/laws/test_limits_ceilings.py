"""What holds of ceilings for every class, engine and storage that can be bought."""

from itertools import pairwise

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.limits import ceilings_of, chain_of
from plimsoll.limits.purchase import check_purchase
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.sheet import Knee
from plimsoll.units import mib_per_s
from strategies import ebs_limits

ENGINES = ("postgres", "mysql", "mariadb", "oracle-ee", "sqlserver-se", "db2-se")
AURORA = ("aurora-postgresql", "aurora-mysql")
SIZES = st.floats(min_value=5, max_value=65_536)


@st.composite
def storages(draw: st.DrawFn) -> Storage:
    kind = draw(st.sampled_from(["gp2", "gp3", "io1", "io2", "standard"]))
    can_provision = kind in ("gp3", "io1", "io2")
    iops = st.none() | st.floats(min_value=1000, max_value=256_000)
    mib = st.none() | st.floats(min_value=125, max_value=4000)
    throughput = draw(mib) if kind == "gp3" else None
    return Storage(
        kind=kind,
        size_gib=draw(SIZES),
        provisioned_ops_per_s=draw(iops) if can_provision else None,
        provisioned_bytes_per_s=None if throughput is None else mib_per_s(throughput),
        volume_count=draw(st.none() | st.integers(min_value=1, max_value=8)),
    )


@st.composite
def several(draw: st.DrawFn) -> Storage:
    """A storage with one or two more beside it."""
    more = draw(st.lists(storages(), min_size=1, max_size=2))
    return replace(draw(storages()), additional=tuple(more))


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    return Instance(
        db_class=draw(st.sampled_from(catalog().classes())),
        engine=draw(st.sampled_from((*ENGINES, *AURORA)) | st.none()),
        engine_version=draw(st.sampled_from(["10.4", "10.11", "16.3"]) | st.none()),
        storage=draw(storages() | st.just(Storage()) | several()),
        ebs_limits=draw(st.none() | ebs_limits),
        capacity_acu_max=draw(st.none() | st.floats(min_value=0, max_value=300)),
        launched_s=draw(st.none() | st.integers(min_value=1_483_228_800, max_value=1_798_761_600)),
    )


@given(instances())
@settings(deadline=None)
def test_every_ceiling_is_above_zero_and_has_an_origin(subject: Instance):
    """What is not known is left out; no ceiling is zero, none lacks a source."""
    for ceiling in ceilings_of(subject, catalog()):
        assert ceiling.value > 0
        assert ceiling.origin.source
        assert (ceiling.phase is Phase.LEGACY) == (ceiling.former_phase is not None)


@given(instances())
@settings(deadline=None)
def test_a_balance_exists_exactly_where_a_bucket_does(subject: Instance):
    """Baselines and bursts of storage have a balance and a capacity, fixed numbers have neither."""
    storage = {Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS, Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS}
    for ceiling in ceilings_of(subject, catalog()):
        if ceiling.family not in storage:
            continue
        has_bucket = ceiling.bucket_phase in (Phase.BASELINE, Phase.BURST)
        assert has_bucket == (ceiling.balance_metric is not None)
        assert has_bucket == (ceiling.capacity_low is not None)
        if ceiling.capacity_low is not None and ceiling.capacity_high is not None:
            assert 0 < ceiling.capacity_low <= ceiling.capacity_high


@given(instances())
@settings(deadline=None)
def test_each_phase_of_a_family_stands_once_and_in_order(subject: Instance):
    """Today a family has one fixed number, or a baseline below a burst; legacy numbers are others."""
    found = ceilings_of(subject, catalog())
    for family in {c.family for c in found} - {Family.CPU_CREDITS}:
        now = {c.phase: c.value for c in found if c.family is family and c.phase != Phase.LEGACY}
        legacy = [c.value for c in found if c.family is family and c.phase is Phase.LEGACY]
        assert set(now) in ({Phase.FIXED}, {Phase.BASELINE, Phase.BURST})
        assert now.get(Phase.BASELINE, 0) < now.get(Phase.BURST, 1)
        assert len(legacy) == len(set(legacy))
        assert not set(legacy) & set(now.values())


@given(instances())
@settings(deadline=None)
def test_a_known_launch_only_narrows_legacy_limits(subject: Instance):
    """The legacy limits of an instance of known age are among those of one of unknown age."""

    def legacy(launched_s: int | None) -> set[tuple[Family, float]]:
        aged = Instance(db_class=subject.db_class, engine=subject.engine, launched_s=launched_s)
        found = ceilings_of(aged, catalog())
        return {(c.family, c.value) for c in found if c.phase is Phase.LEGACY}

    assert legacy(subject.launched_s) <= legacy(None)


@given(st.sampled_from(ENGINES[:5]), SIZES, SIZES)
@settings(deadline=None)
def test_more_gp2_never_holds_less(engine: str, one: float, other: float):
    """The baseline and the throughput of gp2 rise with its size, or stay."""
    small, large = (
        {
            (c.family, c.phase in (Phase.BASELINE, Phase.FIXED)): c.value
            for c in ceilings_of(Instance(engine=engine, storage=Storage(kind="gp2", size_gib=size)), catalog())
        }
        for size in sorted((one, other))
    )

    for key in small.keys() & large.keys():
        if key[1]:
            assert small[key] <= large[key]


@given(instances())
@settings(deadline=None)
def test_the_chain_says_what_the_ceilings_say(subject: Instance):
    """Every stage's rates, over all its stripes, are ceilings of the family it is named after."""
    values = {(c.family.value, c.value) for c in ceilings_of(subject, catalog()) if not c.former_phase}

    def rounded(pairs: set[tuple[str, float]]) -> set[tuple[str, float]]:
        return {(name, float(f"{value:.10g}")) for name, value in pairs}

    chain = chain_of(subject, catalog())
    stages = {(s.name, rate * s.stripes) for s in chain for rate in (s.baseline, s.burst)}

    assert rounded(stages) <= rounded(values)


@given(instances())
@settings(deadline=None, max_examples=50)
def test_the_sheet_keeps_within_every_ceiling(subject: Instance):
    """No row is above a ceiling, bursts are never below baselines, larger I/O never moves less."""
    sheet = sheet_of(subject, catalog())
    most: dict[Family, float] = {}
    for ceiling in sheet.ceilings:
        if not ceiling.former_phase:
            most[ceiling.family] = max(ceiling.value, most.get(ceiling.family, 0.0))
    bytes_most = [v for f, v in most.items() if f in bytes_families()]
    ops_most = [v for f, v in most.items() if f in (Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS)]

    for row in sheet.curve:
        assert row.baseline.bytes_per_s <= row.burst.bytes_per_s * (1 + 1e-9)
        assert all(row.burst.bytes_per_s <= value * (1 + 1e-9) for value in bytes_most)
        assert all(row.burst.ops_per_s <= value * (1 + 1e-9) for value in ops_most)
    rates = [row.baseline.bytes_per_s for row in sheet.curve]
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(rates))


@given(instances())
@settings(deadline=None, max_examples=50)
def test_below_the_knee_iops_bind_and_above_it_throughput(subject: Instance):
    """At every size of the curve the binding family is on the right side of the knee."""
    sheet = sheet_of(subject, catalog())
    for knee, of_row in ((sheet.knee, lambda row: row.baseline), (sheet.burst_knee, lambda row: row.burst)):
        if not isinstance(knee, Knee):
            continue
        for row in sheet.curve:
            if abs(row.io_size_bytes / knee.io_size_bytes - 1) > 1e-6:
                is_above = row.io_size_bytes > knee.io_size_bytes
                assert is_above == (of_row(row).binding in bytes_families())


@given(instances())
@settings(deadline=None)
def test_what_can_be_bought_has_known_limits(subject: Instance):
    """Storage that passes the check has volume ceilings, unless RDS documents none for it."""
    try:
        check_purchase(subject, catalog())
    except UsageError:
        assume(False)
    # What is sold as additional storage is not checked, for it cannot be asked for here.
    assume(subject.storage.kind in ("gp2", "gp3", "io1", "io2") and not subject.storage.additional)
    families = {c.family for c in ceilings_of(subject, catalog())}

    assert {Family.VOLUME_IOPS, Family.VOLUME_THROUGHPUT} <= families


def bytes_families() -> tuple[Family, Family]:
    return Family.INSTANCE_EBS_THROUGHPUT, Family.VOLUME_THROUGHPUT


@given(several(), st.sampled_from(ENGINES))
@settings(deadline=None)
def test_several_storages_have_what_each_has_alone(storage: Storage, engine: str):
    """The sum over the storages, or nothing where one of them is unknown."""
    alone = (replace(storage, additional=(), volume_count=None), *storage.additional)
    for family in (Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS):
        parts = [held(Instance(engine=engine, storage=one), family) for one in alone]
        whole = held(Instance(engine=engine, storage=storage), family)

        assert whole == (sum(parts) if all(parts) else None)


def held(subject: Instance, family: Family) -> float | None:
    """What can be held forever, or None."""
    rows = [c.value for c in ceilings_of(subject, catalog()) if c.family is family]
    return rows[0] if rows else None
