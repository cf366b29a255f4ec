"""`plimsoll watch check`: print what would be watched, and the arithmetic of its cost."""

import os

from plimsoll.app.watch import InstanceCost, costs_of, open_targets, usd_per_metric
from plimsoll.errors import UsageError
from plimsoll.watch.config import WatchSettings, open_access, open_receivers
from plimsoll.watch.law.rulebook import RULES
from plimsoll.watch.law.schedule import MONTH_S, usd_per_month
from plimsoll.watch.receivers.connecting import check_reachable
from plimsoll.watch.web_config import AccessByFile


def print_check(settings: WatchSettings) -> None:
    """
    Print instances, cost, rules and receivers; ask for nothing that costs, and send nothing.

    Raises:
        PlimsollError: a target cannot be read, a receiver cannot be opened or reached, or the budget is too small.
    """
    receivers, access = open_receivers(settings), open_access(settings)
    costs = costs_of(settings)
    _check_budget(settings, costs)
    lines = [*_instances(settings, costs), ""]
    lines += _arithmetic(settings, costs)
    on = [name for name in RULES if settings.rules.of(name).is_on]
    lines += ["", f"rules      {', '.join(on)}"]
    names = ", ".join(receiver.name for receiver in receivers)
    lines += [f"receivers  {names or 'none: transitions are logged, and nothing is sent'}"]
    inspected = [name for target in open_targets(settings) for name in target.databases]
    if inspected:
        lines += [f"inspected  {', '.join(inspected)}, every {settings.inspection.interval_s} s"]
    lines += [f"ledger     {settings.ledger}", f"web        {_web(settings, access)}"]
    print("\n".join(lines), flush=True)  # noqa: T201
    check_reachable(settings.receivers, os.environ)


def _web(settings: WatchSettings, access: AccessByFile) -> str:
    """Return where the HTTP server listens, and who may ask it."""
    if not settings.web.listen_address:
        return "no HTTP server"
    scheme = "http" if access.tls is None else "https"
    users = access.user_count
    who = "no password" if not users else "1 user" if users == 1 else f"{users} users"
    return f"{scheme}://{settings.web.listen_address}, {who}"


def _instances(settings: WatchSettings, costs: list[InstanceCost]) -> list[str]:
    poll = settings.poll
    width = max([len(c.name) for c in costs] + [len("instance")])
    heads = (f"every {poll.urgent_interval_s} s", f"every {poll.interval_s} s", f"every {poll.far_interval_s} s")
    lines = [f"{'instance':{width}}  metrics  {'  '.join(f'{h:>12}' for h in heads)}"]
    for cost in costs:
        prices = [cost.usd_urgent, cost.usd_normal, cost.usd_far]
        row = "  ".join(f"{_usd(price):>12}" for price in prices)
        lines.append(f"{cost.name:{width}}  {cost.metric_count:7}  {row}")
    return lines


def _arithmetic(settings: WatchSettings, costs: list[InstanceCost]) -> list[str]:
    poll, price = settings.poll, usd_per_metric()
    paid = [cost for cost in costs if cost.metric_count]
    if not paid:
        return ["Reading costs nothing: no target is billed by metric."]
    metric_count = sum(cost.metric_count for cost in paid)
    polls = MONTH_S // poll.interval_s
    if price is None:
        return ["The price of GetMetricData is not known, so there is no cost."]
    total = usd_per_month(metric_count, poll.interval_s, price)
    sums = (
        f"{metric_count} metrics × {polls:,} polls in 30 days × ${price * 1000:.2f} per 1,000 metrics = "
        f"{_usd(total)} a month"
    )
    often = (
        f"An instance is read every {poll.urgent_interval_s} s while it nears or is at a limit, and every "
        f"{poll.far_interval_s} s after a day far from all of them."
    )
    lines = [sums, often]
    if settings.budget_usd_per_month is not None:
        lines.append(
            f"Budget: {_usd(settings.budget_usd_per_month)} a month; intervals grow up to "
            f"{poll.longest_interval_s} s so that it holds."
        )
    return lines


def _check_budget(settings: WatchSettings, costs: list[InstanceCost]) -> None:
    budget, price = settings.budget_usd_per_month, usd_per_metric()
    if budget is None or price is None:
        return
    metric_count = sum(cost.metric_count for cost in costs)
    least = usd_per_month(metric_count, settings.poll.longest_interval_s, price)
    if least > budget:
        raise UsageError(
            f"a budget of {_usd(budget)} a month is too small: reading every "
            f"{settings.poll.longest_interval_s} s costs {_usd(least)}",
            "Raise budget_usd_per_month, or name fewer instances.",
        )


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.2f}"
