"""
The on-demand cost of a setup, part by part.

Rule 1: an unknown price makes the sum unknown and is named; it is never zero.
Rule 2: money is Decimal from the price to the sum; amounts enter as they were written.
Rule 3: parts that two setups have in common cancel, known or not: see `usd_per_day_more`.

Not counted: backups beyond the free ones, data transfer, Performance Insights, Extended Support.
"""

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.load import catalog as package_catalog
from plimsoll.errors import CatalogError
from plimsoll.limits.layout import is_aurora, is_serverless
from plimsoll.model.instance import Deployment, Instance, Storage, engine_family
from plimsoll.model.plan import Cost, Option
from plimsoll.model.price import HOURS_PER_MONTH, LICENSES, Price, PriceBook
from plimsoll.units import MIB, number

# One CPU credit is one vCPU at full load for one minute (EC2 user guide, burstable instances, 2026-11).
_CREDITS_PER_VCPU_HOUR = 60
_ZERO = Decimal(0)
_ARM = "arm64"
_PROVISIONED = ("io1", "io2")


class BillItem(Struct, frozen=True, kw_only=True):
    """One part of a bill."""

    usd_per_month: Decimal | None
    """None where a price of it is not known."""
    prices: tuple[Price, ...] = ()
    unknown: tuple[str, ...] = ()
    """Sentences: the unknown prices; empty if the number is known."""
    notes: tuple[str, ...] = ()
    """Sentences: assumptions, and costs that are not counted."""


class StorageParts(Struct, frozen=True, kw_only=True):
    """The cost of storage: space, and IOPS and throughput above the included ones."""

    space: BillItem
    ops: BillItem
    throughput: BillItem


def cost_of(
    instance: Instance,
    book: PriceBook,
    *,
    discount: Decimal = Decimal(1),
    cpu_credits_per_hour: float | None = None,
    catalog: Catalog | None = None,
) -> Cost:
    """
    Return the on-demand cost of an instance for a month of 730 hours.

    Args:
        instance: an unknown `multi_az` counts as Single-AZ, with a note.
        book: prices of the instance's region.
        discount: factor of the price of the instance, 0 < x ≤ 1; Reserved Instances and Savings Plans
            do not cover storage, IOPS, throughput and credits, so these are not discounted.
        cpu_credits_per_hour: CPU credits spent beyond those earned, in a mean hour, for a T class;
            zero where it earns enough. With None they are not counted, with a note.
        catalog: what gp3 includes by engine and size; None is the catalog of this package.

    Returns:
        A cost whose sum is None where any part is; `unknown` then says why.
    """
    facts = catalog or package_catalog()
    return summed(
        instance_part(instance, book),
        storage_parts(instance, book, catalog=facts),
        credits_part(instance, book, cpu_credits_per_hour, catalog=facts),
        discount=discount,
    )


def summed(hours: BillItem, storage: StorageParts, surplus: BillItem, *, discount: Decimal = Decimal(1)) -> Cost:
    """Return the cost of parts that were priced separately."""
    assert 0 < discount <= 1
    # Reserved Instances and Savings Plans cover instance hours only.
    if discount != 1 and hours.usd_per_month is not None:
        note = f"the discount, a factor of {discount}, applies to the instance only"
        hours = replace(hours, usd_per_month=hours.usd_per_month * discount, notes=(*hours.notes, note))
    parts = (hours, storage.space, storage.ops, storage.throughput, surplus)
    prices = [price for part in parts for price in part.prices]
    # The oldest price dates the sum.
    dated = sorted(price.as_of for price in prices if price.as_of)
    unknown = _once(text for part in parts for text in part.unknown)
    # An unknown number of credits is no missing price; it has a note.
    known = [p.usd_per_month for p in parts if p.usd_per_month is not None]
    per_month = hours.usd_per_month
    return Cost(
        usd_per_month=None if unknown else sum(known, _ZERO),
        instance_usd_per_hour=None if per_month is None else per_month / HOURS_PER_MONTH,
        storage_usd_per_month=storage.space.usd_per_month,
        iops_usd_per_month=storage.ops.usd_per_month,
        throughput_usd_per_month=storage.throughput.usd_per_month,
        credits_usd_per_month=surplus.usd_per_month,
        are_credits_counted=surplus.usd_per_month is not None or bool(surplus.unknown),
        as_of=dated[0] if dated else None,
        is_weak=any(price.is_weak for price in prices),
        sources=_once(_source(price) for price in prices),
        unknown=unknown,
        notes=_once(text for text in [n for p in parts for n in p.notes] + [price.note for price in prices] if text),
    )


def usd_per_day_more(before: Instance, before_cost: Cost, after: Instance, after_cost: Cost) -> Decimal | None:
    """
    Return the additional cost of `after` in 24 hours; negative where it costs less.

    A part that is the same before and after cancels, whether its price is known or not. So a change of
    class has a price difference even if the price of the storage is unknown.

    Returns:
        None where a part that changes has no known price.
    """
    more = _ZERO
    for name in _changed(before, after):
        was, now = getattr(before_cost, name), getattr(after_cost, name)
        if was is None or now is None:
            return None
        per_month = now - was
        more += per_month * HOURS_PER_MONTH if name == "instance_usd_per_hour" else per_month
    if before_cost.are_credits_counted and after_cost.are_credits_counted:
        was, now = before_cost.credits_usd_per_month, after_cost.credits_usd_per_month
        if was is None or now is None:
            return None
        more += now - was
    return more * 24 / HOURS_PER_MONTH


def break_even_usd_per_hour(
    present: Option, unpriced: Option, rival: Option, *, discount: Decimal = Decimal(1)
) -> Decimal | None:
    """
    Return the price of an hour at which one setup would cost as much as another.

    Args:
        present: the current setup.
        unpriced: an option whose class has no price.
        rival: an option with one.
        discount: factor of an on-demand price, 0 < x ≤ 1.

    Returns:
        On demand, before the discount; None where another part of the sums is not known, or where
        the storage alone costs as much.
    """
    per_hour = _paid_for_the_class(present, unpriced, rival)
    return None if per_hour is None or per_hour <= 0 else per_hour / discount


def _paid_for_the_class(present: Option, unpriced: Option, rival: Option) -> Decimal | None:
    """Return the part of the rival's price that is left for an hour of the class."""
    rest = _rest_usd_per_month(unpriced.cost)
    if rival.cost.usd_per_month is not None and rest is not None:
        return (rival.cost.usd_per_month - rest) / HOURS_PER_MONTH
    # The price of the storage is unknown, but the storage does not change, so it cancels.
    now, more = present.cost.instance_usd_per_hour, rival.usd_per_day_more
    if now is None or more is None or unpriced.instance.storage != present.instance.storage:
        return None
    was, will = (_credits_usd_per_month(one.cost) for one in (present, unpriced))
    return None if was is None or will is None else now + more / 24 + (was - will) / HOURS_PER_MONTH


def _rest_usd_per_month(cost: Cost) -> Decimal | None:
    """Return the cost of everything except the hours of the class; None where a part is not known."""
    names = ("storage_usd_per_month", "iops_usd_per_month", "throughput_usd_per_month")
    parts = [*(getattr(cost, name) for name in names), _credits_usd_per_month(cost)]
    return None if None in parts else sum(parts, _ZERO)


def _credits_usd_per_month(cost: Cost) -> Decimal | None:
    return cost.credits_usd_per_month if cost.are_credits_counted else _ZERO


def _changed(before: Instance, after: Instance) -> Iterable[str]:
    of_class = ("db_class", "engine", "license_model", "region", "deployment")
    same_storage = before.storage == after.storage
    if any(getattr(before, name) != getattr(after, name) for name in of_class):
        yield "instance_usd_per_hour"
    if not same_storage or any(getattr(before, n) != getattr(after, n) for n in of_class[1:]):
        yield from ("storage_usd_per_month", "iops_usd_per_month", "throughput_usd_per_month")


def instance_part(instance: Instance, book: PriceBook) -> BillItem:
    """Return the cost of the class's hours, without discount, with the licence if it is included."""
    if instance.region is not None and instance.region != book.region:
        return _unknown(f"the instance is in {instance.region}, but the prices are of {book.region}")
    if is_serverless(instance):
        return _unknown("the price of Aurora Serverless depends on the capacity used per hour")
    if instance.db_class is None or instance.engine is None:
        missing = "class" if instance.db_class is None else "engine"
        return _unknown(f"the price depends on class and engine, and the {missing} is unknown")
    # Aurora has no price of a standby: every instance of its cluster is billed as one.
    deployment = Deployment.SINGLE_AZ if is_aurora(instance) else instance.deployment
    license_model = LICENSES.get(instance.license_model or "")
    if instance.license_model is not None and license_model is None:
        return _unknown(
            f"the RDS price list has no license '{instance.license_model}', so the price of "
            f"{instance.db_class} is unknown"
        )
    price = book.instance_price(
        instance.db_class,
        instance.engine,
        license_model=license_model,
        deployment=deployment,
        storage_kind=instance.storage.kind,
    )
    if price is None:
        return _unknown(
            book.why_unknown(
                instance.db_class, engine=instance.engine, deployment=deployment, license_model=license_model
            )
        )
    return BillItem(usd_per_month=price.usd * HOURS_PER_MONTH, prices=(price,), notes=tuple(_taken(instance)))


def _taken(instance: Instance) -> Iterable[str]:
    is_single = instance.deployment is Deployment.SINGLE_AZ
    if instance.multi_az is None and is_single and not is_aurora(instance):
        yield "it is unknown whether the instance has a standby; the price is for Single-AZ"


def storage_parts(instance: Instance, book: PriceBook, *, catalog: Catalog | None = None) -> StorageParts:
    """Return the cost of space, provisioned IOPS and throughput, additional storage included."""
    facts = catalog or package_catalog()
    storage = instance.storage
    if is_aurora(instance):
        return _aurora_storage(instance, book)
    each = (replace(storage, additional=()), *storage.additional)
    found = [_one_storage(replace(instance, storage=one), book, facts) for one in each]
    return StorageParts(
        space=_together([parts.space for parts in found]),
        ops=_together([parts.ops for parts in found]),
        throughput=_together([parts.throughput for parts in found]),
    )


def _one_storage(instance: Instance, book: PriceBook, catalog: Catalog) -> StorageParts:
    storage, deployment = instance.storage, instance.deployment
    if storage.kind is None or storage.size_gib is None:
        missing = "type" if storage.kind is None else "size"
        unknown = _unknown(f"the price depends on storage type and size, and the {missing} is unknown")
        return StorageParts(space=unknown, ops=_free(), throughput=_free())
    space = _priced(f"{storage.kind}_storage", storage.size_gib, book, deployment=deployment)
    if storage.kind == "standard":
        return StorageParts(space=space, ops=_by_request(book), throughput=_free())
    if storage.kind in _PROVISIONED:
        ops = _provisioned(storage, book, deployment=deployment)
        return StorageParts(space=space, ops=ops, throughput=_free())
    if storage.kind != "gp3":
        return StorageParts(space=space, ops=_free(), throughput=_free())
    return _gp3(instance, space, book, catalog)


def _provisioned(storage: Storage, book: PriceBook, *, deployment: Deployment) -> BillItem:
    """Return the cost of io1 and io2 IOPS, every one of which is billed."""
    if storage.provisioned_ops_per_s is None:
        return _unknown(f"{storage.kind} is billed per provisioned IOPS, and their number is unknown")
    item = f"{storage.kind}_ops"
    return _priced(item, storage.provisioned_ops_per_s, book, deployment=deployment)


def _gp3(instance: Instance, space: BillItem, book: PriceBook, catalog: Catalog) -> StorageParts:
    """Return the cost of gp3, where only IOPS and throughput above the included ones are billed."""
    storage, deployment = instance.storage, instance.deployment
    ops, rate = storage.provisioned_ops_per_s, storage.provisioned_bytes_per_s
    if ops is None and rate is None:
        return StorageParts(space=space, ops=_free(), throughput=_free())
    # What gp3 includes depends on engine and size: 3,000 IOPS and 125 MiB/s on one volume, four
    # times as much on four (RDS User Guide, DB instance storage).
    family = engine_family(instance.engine)
    rule = catalog.storage_rule(family, "gp3", storage.size_gib or 0.0) if family else None
    if rule is None or rule.ops_per_s_min is None or rule.bytes_per_s_min is None:
        of = f"{number(storage.size_gib or 0)} GiB of gp3 for {instance.engine or 'this engine'}"
        unknown = _unknown(f"the IOPS and MiB/s included in {of} are unknown")
        return StorageParts(space=space, ops=unknown, throughput=unknown)
    ops_more = max((ops or 0.0) - rule.ops_per_s_min, 0.0)
    if ops_more and rate is None and deployment is Deployment.MULTI_AZ_CLUSTER:
        unknown = _unknown(
            "RDS sets the throughput of a Multi-AZ DB cluster by its IOPS, and does not document how"
            " much of it is billed"
        )
        paid = _priced("gp3_ops", ops_more, book, deployment=deployment)
        return StorageParts(space=space, ops=paid, throughput=unknown)
    rate_more = max((rate or 0.0) - rule.bytes_per_s_min, 0.0) / MIB
    return StorageParts(
        space=space,
        ops=_priced("gp3_ops", ops_more, book, deployment=deployment),
        throughput=_priced("gp3_throughput", rate_more, book, deployment=deployment),
    )


def _by_request(book: PriceBook) -> BillItem:
    """Return the unknown cost of magnetic storage, which depends on the number of future requests."""
    price = book.storage_price("standard_io")
    rate = f" (${price.usd} a million)" if price else ""
    return _unknown(f"magnetic storage is also billed per request{rate}, and their number is unknown")


def _aurora_storage(instance: Instance, book: PriceBook) -> StorageParts:
    optimized = instance.storage.kind == "aurora-iopt1"
    item = "aurora_iopt1_storage" if optimized else "aurora_storage"
    size_gib = instance.storage.size_gib
    space = (
        _unknown("Aurora bills used storage, and the used amount is unknown")
        if size_gib is None
        else _priced(item, size_gib, book, deployment=Deployment.SINGLE_AZ)
    )
    requests = _unknown("Aurora bills I/O requests, and their number is unknown")
    return StorageParts(space=space, ops=_free() if optimized else requests, throughput=_free())


def credits_part(
    instance: Instance, book: PriceBook, cpu_credits_per_hour: float | None, *, catalog: Catalog | None = None
) -> BillItem:
    """
    Return the cost of CPU credits beyond those a T class earns; zero for another class.

    Args:
        cpu_credits_per_hour: credits spent beyond those earned, in a mean hour; None: not counted.
    """
    facts = catalog or package_catalog()
    if instance.db_class is None or is_serverless(instance):
        return _free()
    try:
        earned = facts.cpu_credits(instance.db_class)
        limits = facts.instance_limits(instance.db_class)
    except CatalogError:
        return _free()
    if earned is None or cpu_credits_per_hour == 0:
        return _free()
    item = _credit_item(instance, limits.cpu_arch)
    price = book.storage_price(item)
    if cpu_credits_per_hour is None:
        rate = f" at ${price.usd:f} a vCPU-hour" if price else ""
        note = f"CPU credits beyond those {limits.db_class} earns cost extra{rate}; not included here"
        return BillItem(usd_per_month=None, notes=(note,))
    # In Unlimited mode a T class at zero balance is billed and not throttled (EC2 user guide, burstable
    # instances).
    if not earned.is_unlimited:
        return _unknown(f"RDS does not document whether {limits.db_class} is billed for extra CPU credits")
    if instance.deployment is not Deployment.SINGLE_AZ:
        return _unknown("RDS does not document whether a standby's CPU credits are billed")
    if price is None:
        return _unknown(book.why_unknown(item))
    vcpu_hours = _decimal(cpu_credits_per_hour) / _CREDITS_PER_VCPU_HOUR
    return BillItem(usd_per_month=vcpu_hours * price.usd * HOURS_PER_MONTH, prices=(price,))


def _credit_item(instance: Instance, cpu_arch: str | None) -> str:
    if cpu_arch == _ARM:
        return "cpu_surplus_credits_arm"
    if engine_family(instance.engine) == "sqlserver":
        return "cpu_surplus_credits_sqlserver"
    return "cpu_surplus_credits"


def _priced(item: str, amount: float, book: PriceBook, *, deployment: Deployment) -> BillItem:
    if amount == 0:
        return _free()
    price = book.storage_price(item, deployment=deployment)
    if price is None:
        return _unknown(book.why_unknown(item, deployment=deployment))
    return BillItem(usd_per_month=_decimal(amount) * price.usd, prices=(price,))


def _together(parts: list[BillItem]) -> BillItem:
    known = [part.usd_per_month for part in parts if part.usd_per_month is not None]
    return BillItem(
        usd_per_month=sum(known, _ZERO) if len(known) == len(parts) else None,
        prices=tuple(price for part in parts for price in part.prices),
        unknown=tuple(text for part in parts for text in part.unknown),
        notes=tuple(text for part in parts for text in part.notes),
    )


def _free() -> BillItem:
    """Return a known cost of zero."""
    return BillItem(usd_per_month=_ZERO)


def _unknown(text: str) -> BillItem:
    return BillItem(usd_per_month=None, unknown=(text,))


def _decimal(amount: float) -> Decimal:
    """Return an amount as a Decimal of its shortest text, so that 0.1 is exactly a tenth."""
    return Decimal(str(amount))


def _source(price: Price) -> str:
    return f"{price.origin.source} ({price.as_of or 'undated'})"


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
