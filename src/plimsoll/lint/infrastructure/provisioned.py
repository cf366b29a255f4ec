"""
Provisioned IOPS and throughput that the instance class does not let through.

The class limits all EBS requests of the instance together. What is provisioned above its maximum is paid
for and never used; what is above its baseline is used only while burst credits last.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from plimsoll.lint.infrastructure.rule import (
    RATED,
    ROUNDED_RATIO,
    Paid,
    RuleEntry,
    RuleInput,
    finding,
    paid_for,
    sourced,
)
from plimsoll.model.cause import Remedy
from plimsoll.model.infrastructure import Attribute, DeclaredFinding, DeclaredState, LintRule, SourcedFact
from plimsoll.model.instance import engine_family
from plimsoll.model.limit import InstanceLimits
from plimsoll.units import MIB, format_bytes_per_s, format_ops_per_s, number

_IOPS_KINDS = ("io1", "io2")

IOPS_BEYOND = LintRule(
    code="IOPSBeyondInstance",
    severity="warning",
    summary="The provisioned IOPS are above the most that the instance class lets through.",
)
THROUGHPUT_BEYOND = LintRule(
    code="ThroughputBeyondInstance",
    severity="warning",
    summary="The provisioned throughput is above the most that the instance class lets through.",
)
IOPS_IN_BURSTS = LintRule(
    code="IOPSOnlyInBursts",
    severity="note",
    summary="The provisioned IOPS are above the baseline of the class: they are reached only in bursts.",
)
THROUGHPUT_IN_BURSTS = LintRule(
    code="ThroughputOnlyInBursts",
    severity="note",
    summary="The provisioned throughput is above the baseline of the class: it is reached only in bursts.",
)


class _ProvisionedRate(Struct, frozen=True, kw_only=True):
    """A provisioned rate, the numbers of the class for it, and how it is billed."""

    provisioned: float
    included: float
    """Part of it that is not billed."""
    baseline: float
    most: float
    item: str
    """Item of `STORAGE_ITEMS`; empty where the storage type is not known."""
    per_billed: float
    """Bytes per s or operations per s in one billed unit."""
    word: str
    shown: str
    """The provisioned rate, for people."""
    unit: str
    """What the two below need after them: ` IOPS`, or nothing."""
    most_shown: str
    baseline_shown: str
    most_of: Callable[[InstanceLimits], float | None]
    """The most that a class lets through."""

    def billed_above(self, reach: float) -> float:
        """Return the billed units above a rate that the class lets through."""
        return max(self.provisioned - max(reach, self.included), 0.0) / self.per_billed


def _needs_ops(state: DeclaredState) -> tuple[Attribute, ...]:
    kind = state.instance.storage.kind
    # Whatever the type is, the class does not let more through.
    if not state.knows(Attribute.STORAGE_TYPE) and state.instance.storage.provisioned_ops_per_s:
        return (Attribute.DB_CLASS,)
    # gp2 and magnetic storage have no provisioned IOPS.
    if state.knows(Attribute.STORAGE_TYPE) and kind not in (*_IOPS_KINDS, "gp3"):
        return ()
    base = (Attribute.STORAGE_TYPE, Attribute.IOPS, Attribute.DB_CLASS)
    return (*base, Attribute.ENGINE, Attribute.STORAGE_SIZE) if kind == "gp3" else base


def _needs_throughput(state: DeclaredState) -> tuple[Attribute, ...]:
    # Only the throughput of gp3 is provisioned.
    if state.knows(Attribute.STORAGE_TYPE) and state.instance.storage.kind != "gp3":
        return ()
    return (Attribute.STORAGE_TYPE, Attribute.THROUGHPUT, Attribute.DB_CLASS, Attribute.ENGINE, Attribute.STORAGE_SIZE)


def _ops(subject: RuleInput) -> _ProvisionedRate | None:
    storage, limits = subject.instance.storage, subject.limits
    provisioned = storage.provisioned_ops_per_s
    is_open = not subject.state.knows(Attribute.STORAGE_TYPE)
    if provisioned is None or limits is None:
        return None
    if not is_open and storage.kind not in (*_IOPS_KINDS, "gp3"):
        return None
    if limits.ebs_burst_ops_per_s is None or limits.ebs_baseline_ops_per_s is None:
        return None
    return _ProvisionedRate(
        provisioned=provisioned,
        included=_included(subject)[0] if storage.kind == "gp3" else 0.0,
        baseline=limits.ebs_baseline_ops_per_s,
        most=limits.ebs_burst_ops_per_s,
        item="" if is_open else f"{storage.kind}_ops",
        per_billed=1.0,
        word="IOPS",
        shown=format_ops_per_s(provisioned),
        unit=" IOPS",
        most_shown=number(limits.ebs_burst_ops_per_s),
        baseline_shown=number(limits.ebs_baseline_ops_per_s),
        most_of=lambda other: other.ebs_burst_ops_per_s,
    )


def _throughput(subject: RuleInput) -> _ProvisionedRate | None:
    storage, limits = subject.instance.storage, subject.limits
    provisioned = storage.provisioned_bytes_per_s
    if storage.kind != "gp3" or provisioned is None or limits is None:
        return None
    if limits.ebs_burst_bytes_per_s is None or limits.ebs_baseline_bytes_per_s is None:
        return None
    return _ProvisionedRate(
        provisioned=provisioned,
        included=_included(subject)[1],
        baseline=limits.ebs_baseline_bytes_per_s,
        most=limits.ebs_burst_bytes_per_s,
        item="gp3_throughput",
        per_billed=float(MIB),
        word="throughput",
        unit="",
        shown=f"{number(provisioned / MIB)} MiB/s ({format_bytes_per_s(provisioned)})",
        most_shown=format_bytes_per_s(limits.ebs_burst_bytes_per_s),
        baseline_shown=format_bytes_per_s(limits.ebs_baseline_bytes_per_s),
        most_of=lambda other: other.ebs_burst_bytes_per_s,
    )


def _included(subject: RuleInput) -> tuple[float, float]:
    """Return the IOPS and bytes/s that gp3 includes at this size; endless where it is not documented."""
    storage, engine = subject.instance.storage, engine_family(subject.instance.engine)
    unknown = float("inf")
    if engine is None or storage.size_gib is None:
        return unknown, unknown
    rule = subject.catalog.storage_rule(engine, "gp3", storage.size_gib)
    if rule is None:
        return unknown, unknown
    ops, rate = rule.ops_per_s_min, rule.bytes_per_s_min
    return (unknown if ops is None else ops, unknown if rate is None else rate)


def _beyond(rule: LintRule, rate: _ProvisionedRate | None, subject: RuleInput) -> Iterator[DeclaredFinding]:
    if rate is None or rate.provisioned <= ROUNDED_RATIO * rate.most:
        return
    unused = rate.billed_above(rate.most)
    if not unused:
        return
    db_class = subject.instance.db_class
    yield finding(
        rule,
        f"{rate.shown} {_verb(rate)} provisioned, but {db_class} lets at most {rate.most_shown} through",
        text=f"The limit of the class counts reads and writes of all volumes together. {_rest(rate)}",
        facts=_class_facts(rate, subject),
        paid=_paid(subject, rate, unused, "that this class cannot use"),
        excess=unused,
        remedies=_remedies(rate, subject),
    )


def _verb(rate: _ProvisionedRate) -> str:
    return "are" if rate.word == "IOPS" else "is"


def _paid(subject: RuleInput, rate: _ProvisionedRate, amount: float, which: str) -> Paid:
    if not rate.item:
        reason = subject.state.unknown[Attribute.STORAGE_TYPE]
        return Paid(text=f"The price is not known: {reason}.")
    return paid_for(subject, {rate.item: amount}, f"is paid for {rate.word} {which}")


def _rest(rate: _ProvisionedRate) -> str:
    if rate.baseline < rate.most:
        return (
            f"The class reaches {rate.most_shown}{rate.unit} only while burst credits last: the "
            f"baseline is {rate.baseline_shown}{rate.unit}."
        )
    return "More is provisioned, and never used."


def _remedies(rate: _ProvisionedRate, subject: RuleInput) -> tuple[Remedy, ...]:
    text = f"Provision at most {rate.most_shown}{rate.unit}"
    larger = _larger_class(rate, subject)
    if larger is not None:
        text += f", or choose {larger}, the smallest size of its family that lets all of it through"
    return (Remedy(text=f"{text}."),)


def _larger_class(rate: _ProvisionedRate, subject: RuleInput) -> str | None:
    """Return the smallest class of the same family that lets through what is provisioned; None if none does."""
    assert subject.limits is not None
    catalog, family = subject.catalog, subject.limits.db_class.rpartition(".")[0]
    sizes = [catalog.instance_limits(name) for name in catalog.classes() if name.rpartition(".")[0] == family]
    enough = [one for one in sizes if one.is_offered and (rate.most_of(one) or 0.0) >= rate.provisioned]
    return min(enough, key=lambda one: one.vcpu_count or 0).db_class if enough else None


def _in_bursts(rule: LintRule, rate: _ProvisionedRate | None, subject: RuleInput) -> Iterator[DeclaredFinding]:
    if rate is None or rate.provisioned <= ROUNDED_RATIO * rate.baseline:
        return
    # What is above the maximum too is the finding of `_beyond`.
    if rate.provisioned > ROUNDED_RATIO * rate.most:
        return
    above = rate.billed_above(rate.baseline)
    if not above:
        return
    yield finding(
        rule,
        f"{rate.shown} {_verb(rate)} provisioned, but {subject.instance.db_class} holds only "
        f"{rate.baseline_shown} for longer than a burst",
        text=f"The class reaches {rate.most_shown}{rate.unit} while burst credits last. AWS documents 30 "
        "minutes at least once in 24 hours.",
        facts=_class_facts(rate, subject),
        paid=_paid(subject, rate, above, "above the baseline"),
        excess=above,
        remedies=(
            Remedy(
                text="Keep it if the load comes in bursts. For steady load, provision the baseline, "
                "or choose a class with a higher one: '--history TARGET' shows which load there is."
            ),
        ),
    )


def _class_facts(rate: _ProvisionedRate, subject: RuleInput) -> tuple[SourcedFact, ...]:
    limits = subject.limits
    assert limits is not None
    note = f" ({limits.note})" if limits.note else ""
    text = f"{limits.db_class}: baseline {rate.baseline_shown}, maximum {rate.most_shown}"
    return (sourced(f"{text}{rate.unit}{note}", limits.ebs_origin or limits.origin),)


PROVISIONED = (
    RuleEntry(rule=IOPS_BEYOND, kinds=RATED, needs=_needs_ops, check=lambda s: _beyond(IOPS_BEYOND, _ops(s), s)),
    RuleEntry(
        rule=THROUGHPUT_BEYOND,
        kinds=RATED,
        needs=_needs_throughput,
        check=lambda s: _beyond(THROUGHPUT_BEYOND, _throughput(s), s),
    ),
    RuleEntry(
        rule=IOPS_IN_BURSTS, kinds=RATED, needs=_needs_ops, check=lambda s: _in_bursts(IOPS_IN_BURSTS, _ops(s), s)
    ),
    RuleEntry(
        rule=THROUGHPUT_IN_BURSTS,
        kinds=RATED,
        needs=_needs_throughput,
        check=lambda s: _in_bursts(THROUGHPUT_IN_BURSTS, _throughput(s), s),
    ),
)
"""The rules of this file."""
