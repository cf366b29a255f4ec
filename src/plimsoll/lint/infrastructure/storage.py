"""Storage that another storage of RDS beats at the same price, and storage that RDS refuses."""

from collections.abc import Iterator
from decimal import Decimal

from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.limits import volumes
from plimsoll.limits.purchase import check_purchase
from plimsoll.lint.infrastructure.rule import RATED, Paid, RuleEntry, RuleInput, finding, gib_text, paid_for, sourced
from plimsoll.model.cause import Remedy
from plimsoll.model.ceiling import Ceiling, Phase
from plimsoll.model.infrastructure import Attribute, DeclaredFinding, DeclaredState, LintRule, SourcedFact
from plimsoll.model.instance import Instance, engine_family
from plimsoll.model.limit import StorageRule
from plimsoll.model.price import HOURS_PER_MONTH
from plimsoll.units import MIB, number

GP2_BEATEN = LintRule(
    code="GP3FasterThanGP2", severity="warning", summary="gp3 of the same size is faster than gp2 and costs no more."
)
BELOW_STRIPING = LintRule(
    code="BelowStripingThreshold",
    severity="note",
    summary="A little more storage would be striped over four volumes, with four times the IOPS.",
)
REFUSED = LintRule(
    code="StorageRefused",
    severity="critical",
    summary="RDS does not sell this combination of storage type, size, IOPS and throughput.",
)

# A judgement: a gp2 volume up to 170 GiB has 128 MiB/s and a gp3 volume 125. Nobody notices 2 %.
_SAME_THROUGHPUT_RATIO = 0.97
# A judgement: four times the IOPS are worth mentioning for up to a twentieth of the price of the instance.
_LITTLE_RATIO = Decimal("0.05")


_LAYOUT = (Attribute.STORAGE_TYPE, Attribute.STORAGE_SIZE, Attribute.ENGINE, Attribute.DB_CLASS)


def _needs_gp2(state: DeclaredState) -> tuple[Attribute, ...]:
    is_other = state.knows(Attribute.STORAGE_TYPE) and state.instance.storage.kind != "gp2"
    return () if is_other else _LAYOUT


def _needs_gp3(state: DeclaredState) -> tuple[Attribute, ...]:
    is_other = state.knows(Attribute.STORAGE_TYPE) and state.instance.storage.kind != "gp3"
    return () if is_other else _LAYOUT


def _needs_purchase(state: DeclaredState) -> tuple[Attribute, ...]:
    kind = state.instance.storage.kind
    needed = (Attribute.STORAGE_TYPE, Attribute.STORAGE_SIZE, Attribute.ENGINE)
    if state.knows(Attribute.STORAGE_TYPE) and kind in ("gp2", "standard"):
        return needed
    if state.knows(Attribute.STORAGE_TYPE) and kind in ("io1", "io2"):
        return (*needed, Attribute.IOPS)
    return (*needed, Attribute.IOPS, Attribute.THROUGHPUT)


def _gp2_beaten(subject: RuleInput) -> Iterator[DeclaredFinding]:
    instance, limits = subject.instance, subject.limits
    size = instance.storage.size_gib
    if instance.storage.kind != "gp2" or size is None or limits is None:
        return
    rival = replace(
        instance,
        storage=replace(instance.storage, kind="gp3", provisioned_ops_per_s=None, provisioned_bytes_per_s=None),
    )
    now, then = _rates(instance, subject), _rates(rival, subject)
    if now is None or then is None:
        return
    # What the class does not let through is no advantage of either.
    most_ops = limits.ebs_burst_ops_per_s or float("inf")
    most_bytes = limits.ebs_burst_bytes_per_s or float("inf")
    more_ops = max(min(now[0].value, most_ops) - then[0].value, 0.0)
    is_slower = then[1].value < _SAME_THROUGHPUT_RATIO * min(now[1].value, most_bytes)
    if is_slower or more_ops or min(then[0].value, most_ops) <= min(now[0].value, most_ops):
        return
    was = paid_for(subject, {"gp2_storage": size}, "for gp2")
    will = paid_for(subject, {"gp3_storage": size}, "for gp3")
    if was.usd_per_month is None or will.usd_per_month is None:
        paid, severity, cost = Paid(text=will.text), "note", "; the prices are not known"
    elif will.usd_per_month > was.usd_per_month:
        return
    else:
        saved = was.usd_per_month - will.usd_per_month
        cost = " at the same price" if not saved else f" for ${saved:,.2f} a month less"
        text = f"{gib_text(size)}: ${was.usd_per_month:,.2f} a month as gp2, ${will.usd_per_month:,.2f} as gp3."
        paid = Paid(usd_per_month=saved or None, text=text, facts=(*was.facts, *will.facts))
        severity = GP2_BEATEN.severity
    yield replace(
        finding(
            GP2_BEATEN,
            f"{gib_text(size)} of gp2 hold {number(now[0].value)} IOPS; gp3 holds {number(then[0].value)}{cost}",
            text="gp2 exceeds this baseline only while its burst balance lasts; gp3 has no balance.",
            facts=(sourced(f"gp2: {now[0].note}", now[0].origin), sourced(f"gp3: {then[0].note}", then[0].origin)),
            paid=paid,
            excess=then[0].value - now[0].value,
            remedies=(
                Remedy(
                    text="Set the storage type to gp3. RDS changes it without downtime; the storage is "
                    "slower until the optimisation ends."
                ),
            ),
        ),
        severity=severity,
    )


def _rates(instance: Instance, subject: RuleInput) -> tuple[Ceiling, Ceiling] | None:
    """Return the sustained IOPS and the throughput of the volumes; None where one is not documented."""
    ops = [c for c in volumes.iops(instance, subject.catalog) if c.phase in (Phase.BASELINE, Phase.FIXED)]
    rate = volumes.throughput(instance, subject.catalog)
    return (ops[0], rate[0]) if ops and rate else None


def _below_striping(subject: RuleInput) -> Iterator[DeclaredFinding]:
    instance, limits = subject.instance, subject.limits
    storage, engine = instance.storage, engine_family(instance.engine)
    if storage.kind != "gp3" or storage.size_gib is None or engine is None or limits is None:
        return
    here = subject.catalog.storage_rule(engine, "gp3", storage.size_gib)
    striped = _striped(subject.catalog.storage_rules(engine, "gp3"), here)
    if here is None or striped is None or striped.size_gib_min is None:
        return
    ops, more = here.ops_per_s_min, striped.ops_per_s_min
    baseline = limits.ebs_baseline_ops_per_s
    # A class that holds no more than one volume has gains nothing.
    if ops is None or more is None or baseline is None or baseline <= ops:
        return
    missing = striped.size_gib_min - storage.size_gib
    paid = paid_for(subject, {"gp3_storage": missing}, f"for {gib_text(missing)} more, striped over four volumes")
    whole = _instance_usd_per_month(subject)
    if paid.usd_per_month is None or whole is None or paid.usd_per_month > _LITTLE_RATIO * whole:
        return
    yield finding(
        BELOW_STRIPING,
        f"{gib_text(storage.size_gib)} of gp3 are one volume with {number(ops)} IOPS; "
        f"{gib_text(striped.size_gib_min)} are {striped.volume_count} volumes with {number(more)}",
        text=f"{subject.instance.db_class} holds {number(baseline)} IOPS, so one volume is the lower "
        f"limit. Below {gib_text(striped.size_gib_min)}, IOPS and throughput cannot be provisioned.",
        facts=(
            sourced(
                f"gp3 for {engine}: {here.volume_count} volume up to {gib_text(here.size_gib_max)}, "
                f"{striped.volume_count} from {gib_text(striped.size_gib_min)}",
                striped.origin,
            ),
        ),
        paid=paid,
        excess=missing,
        remedies=(
            Remedy(
                text=f"If the database is short of IOPS, allocate {gib_text(striped.size_gib_min)}. "
                "Storage cannot be made smaller again."
            ),
        ),
    )


def _striped(rules: tuple[StorageRule, ...], here: StorageRule | None) -> StorageRule | None:
    """Return the first rule above `here` with more volumes; None where the engine does not stripe."""
    if here is None or here.volume_count is None:
        return None
    return next((r for r in rules if (r.volume_count or 0) > (here.volume_count or 0)), None)


def _instance_usd_per_month(subject: RuleInput) -> Decimal | None:
    book, instance = subject.prices, subject.instance
    if book is None or instance.db_class is None or instance.engine is None:
        return None
    licenses = subject.catalog.licenses(instance.engine)
    found = [
        book.instance_price(
            instance.db_class, instance.engine, license_model=license_model, deployment=subject.deployment
        )
        for license_model in licenses
    ]
    # With several licences the lowest price keeps the finding on the safe side.
    known = [price.usd for price in found if price is not None]
    return min(known) * HOURS_PER_MONTH if known else None


def _refused(subject: RuleInput) -> Iterator[DeclaredFinding]:
    instance = subject.instance
    storage = instance.storage
    if not subject.is_new_storage or storage.kind is None or storage.size_gib is None:
        return
    engine = engine_family(instance.engine)
    # A Multi-AZ DB cluster has other bounds of IOPS and throughput, which the catalog does not have.
    if engine in (None, "aurora") or subject.deployment.value == "multi-az-cluster":
        return
    try:
        check_purchase(_as_bought(instance, subject), subject.catalog)
    except UsageError as error:
        # The hints of flags are of no use in a file.
        hint = "" if "--" in error.hint else error.hint
        rules = subject.catalog.storage_rules(engine or "", storage.kind)
        yield finding(
            REFUSED,
            f"RDS refuses this storage: {error.message}",
            text="The change fails when it is applied.",
            facts=_described(rules, storage.size_gib),
            remedies=(Remedy(text=hint),) if hint else (),
        )


def _as_bought(instance: Instance, subject: RuleInput) -> Instance:
    """Return the instance without rates that gp3 includes: RDS reports these as if they were provisioned."""
    storage, engine = instance.storage, engine_family(instance.engine)
    rule = subject.catalog.storage_rule(engine or "", "gp3", storage.size_gib or 0.0)
    if storage.kind != "gp3" or rule is None:
        return instance
    ops, rate = storage.provisioned_ops_per_s, storage.provisioned_bytes_per_s
    return replace(
        instance,
        storage=replace(
            storage,
            provisioned_ops_per_s=None if ops == rule.ops_per_s_min else ops,
            provisioned_bytes_per_s=None if rate == rule.bytes_per_s_min else rate,
        ),
    )


def _described(rules: tuple[StorageRule, ...], size_gib: float) -> tuple[SourcedFact, ...]:
    here = next((r for r in rules if (r.size_gib_min or 0) <= size_gib < r.size_gib_max + 1), None)
    if here is None:
        return tuple(sourced("the storage types and sizes of RDS", r.origin) for r in rules[:1])
    least, most = here.provisioned_ops_per_s_min, here.provisioned_ops_per_s_max
    can = (
        "no provisioned IOPS"
        if least is None or most is None
        else (f"{number(least)} to {number(most)} provisioned IOPS")
    )
    low, high = here.provisioned_bytes_per_s_min, here.provisioned_bytes_per_s_max
    if low is not None and high is not None:
        can += f", {number(low / MIB)} to {number(high / MIB)} MiB/s"
    span = f"{number(here.size_gib_min or 0)} to {gib_text(here.size_gib_max)}"
    return (sourced(f"{here.kind} for {here.engine}, {span}: {can}", here.origin),)


STORAGE = (
    RuleEntry(rule=REFUSED, kinds=RATED, needs=_needs_purchase, check=_refused),
    RuleEntry(rule=GP2_BEATEN, kinds=RATED, needs=_needs_gp2, check=_gp2_beaten),
    RuleEntry(rule=BELOW_STRIPING, kinds=RATED, needs=_needs_gp3, check=_below_striping),
)
"""The rules of this file."""
