"""What every rule for declared databases is given, and what it returns."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.errors import CatalogError
from plimsoll.limits.class_limits import limits_of
from plimsoll.model.ceiling import Origin
from plimsoll.model.infrastructure import Attribute, DatabaseKind, DeclaredFinding, DeclaredState, LintRule, SourcedFact
from plimsoll.model.instance import Deployment, Instance
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.price import Price
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import number

# A judgement, the same as in a diagnosis: rates are bought in round numbers, so up to a tenth
# above a limit is no finding.
ROUNDED_RATIO = 1.1


class RuleInput(Struct, frozen=True, kw_only=True):
    """One state of one database, and the facts to judge it by."""

    kind: DatabaseKind
    state: DeclaredState
    catalog: Catalog
    history: Snapshot | None = None
    """Metrics of the same database; None where none were given."""
    is_new_storage: bool = True
    """Whether the change creates or changes the storage; RDS checks only such storage."""

    @property
    def instance(self) -> Instance:
        """Return the declared instance."""
        return self.state.instance

    @property
    def limits(self) -> InstanceLimits | None:
        """Return the limits of the class; None if the class is not set or not in the catalog."""
        try:
            return limits_of(self.instance, self.catalog)
        except CatalogError:
            return None

    @property
    def deployment(self) -> Deployment:
        """Return the deployment that is paid; Single-AZ where a standby is unknown."""
        if self.kind is DatabaseKind.CLUSTER:
            return Deployment.MULTI_AZ_CLUSTER
        return self.instance.deployment

    @property
    def prices(self) -> CatalogPrices | None:
        """Return the prices of the region; None where the region is unknown or has no prices."""
        region = self.instance.region
        if region is None or region not in self.catalog.price_regions():
            return None
        return CatalogPrices(self.catalog, region)


Needs = Callable[[DeclaredState], tuple[Attribute, ...]]
Check = Callable[[RuleInput], Iterator[DeclaredFinding]]


class RuleEntry(Struct, frozen=True, kw_only=True):
    """A rule with its function and what it must know."""

    rule: LintRule
    kinds: tuple[DatabaseKind, ...]
    needs: Needs
    check: Check
    needs_history: bool = False


RATED = (DatabaseKind.INSTANCE, DatabaseKind.CLUSTER)
"""Resources whose class and storage are declared together."""


class Paid(Struct, frozen=True, kw_only=True):
    """A price of a month, or why it is not known."""

    usd_per_month: Decimal | None = None
    text: str = ""
    """A sentence; empty where nothing is paid."""
    facts: tuple[SourcedFact, ...] = ()


def paid_for(subject: RuleInput, amounts: Mapping[str, float], meaning: str) -> Paid:
    """
    Return the price of amounts of storage items for a month.

    Args:
        subject: the database, for region and deployment.
        amounts: by item of `STORAGE_ITEMS`.
        meaning: what is paid for it, as the end of the sentence: `for IOPS that this class cannot use`.
    """
    book, region = subject.prices, subject.instance.region
    if book is None:
        why = f"there are no prices of {region}"
        if region is None:
            why = "the region is not known; give --region"
        return Paid(text=f"The price is not known: {why}.")
    total, facts = Decimal(0), []
    for item, amount in amounts.items():
        price = book.storage_price(item, deployment=subject.deployment)
        if price is None:
            why = f"{item.replace('_', ' ')} has no price in {region}"
            return Paid(text=f"The price is not known: {why}.")
        total += price.usd * Decimal(str(amount))
        facts.append(_fact_of(item, price, subject.deployment))
    is_least = Attribute.STANDBY in subject.state.unknown
    least = "At least " if is_least else ""
    standby = "; a standby, which is not known, doubles it" if is_least else ""
    return Paid(usd_per_month=total, text=f"{least}${total:,.2f} a month {meaning}{standby}.", facts=tuple(facts))


_DEPLOYED = {
    Deployment.SINGLE_AZ: "",
    Deployment.MULTI_AZ: ", Multi-AZ",
    Deployment.MULTI_AZ_CLUSTER: ", Multi-AZ DB cluster",
}


def _fact_of(item: str, price: Price, deployment: Deployment) -> SourcedFact:
    what = item.replace("_", " ").replace(" ops", " IOPS")
    return SourcedFact(
        text=f"{what} in {price.region}{_DEPLOYED[deployment]}: ${price.usd} per {price.unit}",
        source=price.origin.source,
        read_on=price.as_of or price.origin.read_on,
    )


def sourced(text: str, origin: Origin) -> SourcedFact:
    """Return a fact with its origin."""
    return SourcedFact(text=text, source=origin.source, read_on=origin.read_on)


def gib_text(size_gib: float) -> str:
    """Format a storage size: `1,000 GiB`."""
    return f"{number(size_gib)} GiB"


def finding(
    rule: LintRule,
    title: str,
    *,
    text: str,
    facts: tuple[SourcedFact, ...] = (),
    paid: Paid | None = None,
    excess: float = 0.0,
    **others: object,
) -> DeclaredFinding:
    """Return a finding of a rule, without its place; `check.py` adds address, file and line."""
    paid = paid or Paid()
    return DeclaredFinding(
        code=rule.code,
        severity=rule.severity,
        address="",
        file="",
        line=1,
        title=title,
        text=text,
        facts=(*facts, *paid.facts),
        usd_per_month=paid.usd_per_month,
        price_text=paid.text,
        excess=excess,
        **others,  # type: ignore[arg-type]
    )
