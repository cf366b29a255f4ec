"""The dashboard of all instances: which are at a limit, which come close, and whether the watch works."""

from collections.abc import Mapping

import panels
from grafana_foundation_sdk.builders import stat, timeseries
from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from panels import FLEET, IDENTITY, INSTANCE, LEFT, NONE_IS_GOOD, USED

Panel = stat.Panel | timeseries.Panel

# The variables of both dashboards; the watch's own metrics have no label of an account.
CHOSEN = 'aws_account_id=~"$account", aws_region=~"$region", dbidentifier=~"$instance"'
WATCH = 'job=~"$job"'
# A row of a table leads to the dashboard of its instance.
TO_INSTANCE = (
    f"/d/{INSTANCE}?${{datasource:queryparam}}&${{__url_time_range}}"
    "&var-account=${__data.fields[Account]}&var-region=${__data.fields[Region]}"
    "&var-instance=${__data.fields[Instance]}"
)
LINK: Mapping[str, object] = {"links": [{"title": "Show this instance", "url": TO_INSTANCE}]}
PLACE = {"dbidentifier": "Instance", "aws_account_id": "Account", "aws_region": "Region"}


def fleet() -> Dashboard:
    """Return the dashboard."""
    made = panels.dashboard(
        "Plimsoll / Fleet",
        FLEET,
        "Databases that plimsoll watch reads: limits that bind, headroom, credits, alerts, cost.",
    )
    source = "plimsoll_instance_stale"
    account = f'{source}{{aws_account_id=~"$account"}}'
    region = f'{source}{{aws_account_id=~"$account", aws_region=~"$region"}}'
    for name, label, query in (
        ("account", "Account", f"label_values({source}, aws_account_id)"),
        ("region", "Region", f"label_values({account}, aws_region)"),
        ("instance", "Instance", f"label_values({region}, dbidentifier)"),
        ("job", "Job", "label_values(plimsoll_build_info, job)"),
    ):
        made.with_variable(panels.variable(name, label, query, has_all=True))
    _now(made)
    _instances(made)
    _over_time(made)
    _watch(made)
    return made


def _each(metric: str, more: str = "", *, how: str = "max", by: str = IDENTITY) -> str:
    """Return a value for each instance: an owner that just changed may be there twice."""
    labels = f"{CHOSEN}, {more}" if more else CHOSEN
    return f"{how} by ({by}) ({metric}{{{labels}}})"


def _found(state: str) -> str:
    """Return the number of instances with a ceiling in this state."""
    chosen = f'state="{state}"'
    return f"sum({_each('plimsoll_ceiling_state', chosen)})"


def _now(made: Dashboard) -> None:
    made.with_row(Row("Now"))
    for title, description, expr, steps in (
        ("Instances", "Instances that the watch knows.", f"count({_each('plimsoll_instance_stale')})", panels.PLAIN),
        ("At a ceiling", "Instances with a ceiling that binds now.", _found("bound"), NONE_IS_GOOD),
        (
            "Close to a ceiling",
            "Instances that spend burst credits, or use 80 % of a ceiling without credits.",
            _found("nearing"),
            ((None, panels.GREEN), (1.0, panels.YELLOW)),
        ),
        (
            "Without new data",
            "Instances of which nothing new was read for 15 minutes.",
            f"sum({_each('plimsoll_instance_stale')})",
            NONE_IS_GOOD,
        ),
        (
            "Open alerts",
            "Alerts that are open, of all rules of the watch.",
            f"count({_each('plimsoll_alert', by=IDENTITY + ', rule, ceiling')})",
            NONE_IS_GOOD,
        ),
    ):
        made.with_panel(panels.number(title, description, expr, steps=steps, none="0"))
    made.with_panel(
        panels.number(
            "Cost this month",
            "What CloudWatch has cost in this calendar month (UTC).",
            f"sum(max by (job) (plimsoll_watch_month_cost_dollars{{{WATCH}}}))",
            unit="currencyUSD",
        )
    )


def _instances(made: Dashboard) -> None:
    made.with_row(Row("Instances"))
    made.with_panel(
        panels.rows(
            "Closest to a ceiling",
            "The highest use of any ceiling, the lowest balance and the shortest time to empty of each instance.",
            {
                "Used": _each("plimsoll_ceiling_used_ratio"),
                "Lowest balance": _each("plimsoll_balance_ratio", how="min"),
                "Time to empty": _each("plimsoll_time_to_empty_seconds", how="min"),
                "Age of data": _each("plimsoll_instance_data_age_seconds", how="min"),
                "Info": _each("plimsoll_instance_info", by=f"{IDENTITY}, instance_class, storage_type, engine"),
            },
            shown={**PLACE, "instance_class": "Class", "storage_type": "Storage", "engine": "Engine"},
            fields={
                "Instance": LINK,
                "Used": {"unit": "percentunit", "decimals": 0, **panels.coloured(USED)},
                "Lowest balance": {"unit": "percentunit", "decimals": 0, **panels.coloured(LEFT)},
                "Time to empty": {"unit": "s"},
                "Age of data": {"unit": "s"},
                "Info": {"custom.hidden": True},
            },
            sorted_by="Used",
        )
    )
    by = f"{IDENTITY}, rule, ceiling"
    made.with_panel(
        panels.rows(
            "Alerts",
            "Each rule that is nearing, bound or unknown, and since when.",
            {
                "State": _each("plimsoll_alert", by=f"{by}, state"),
                "Since": f"1000 * {_each('plimsoll_alert_start_timestamp_seconds', by=by)}",
            },
            shown={**PLACE, "rule": "Rule", "ceiling": "Ceiling", "state": "Found"},
            fields={"Instance": LINK, "Since": {"unit": "dateTimeFromNow"}, "State": {"custom.hidden": True}},
            height=7,
        )
    )


def _over_time(made: Dashboard) -> None:
    made.with_row(Row("Over time"))
    counted = {state: _found(state) for state in ("bound", "nearing", "unknown")}
    legend = "{{dbidentifier}}"
    for panel in (
        panels.curves(
            "Instances by state",
            "Instances with a ceiling in each state. An instance with several ceilings may be in several.",
            counted,
            unit="short",
        ),
        panels.bars(
            "Verdicts",
            "Instances by the verdict of their last window.",
            {"{{verdict}}": f"sum by (verdict) ({_each('plimsoll_instance_verdict', by=IDENTITY + ', verdict')})"},
            width=12,
        ),
        panels.curves(
            "Highest use of a ceiling",
            "The ten instances that use most of a baseline or fixed ceiling. Above 100 % they spend credits.",
            {legend: f"topk(10, {_each('plimsoll_ceiling_used_ratio')})"},
            unit="percentunit",
            steps=USED,
            top=1,
        ),
        panels.curves(
            "Lowest balance",
            "The ten instances with the fewest credits in any of their buckets.",
            {legend: f"bottomk(10, {_each('plimsoll_balance_ratio', how='min')})"},
            unit="percentunit",
            top=1,
        ),
        panels.curves(
            "Shortest time to empty",
            "Time until credits are spent or space is full, at the present rate: the ten shortest.",
            {legend: f"bottomk(10, {_each('plimsoll_time_to_empty_seconds', how='min')})"},
            unit="s",
        ),
        panels.curves(
            "Age of data",
            "Age of the newest complete minute that was read: the ten oldest. CloudWatch is minutes late.",
            {legend: f"topk(10, {_each('plimsoll_instance_data_age_seconds', how='min')})"},
            unit="s",
        ),
    ):
        made.with_panel(panel)


def _rate(metric: str, by: str) -> str:
    return f"sum by ({by}) (rate({metric}{{{WATCH}}}[$__rate_interval]))"


def _watch(made: Dashboard) -> None:
    made.with_row(Row("The watch itself"))
    for panel in (*_watch_numbers(), *_watch_work(), *_watch_process()):
        made.with_panel(panel)


def _watch_numbers() -> tuple[Panel, ...]:
    return (
        panels.number(
            "Processes with the lease",
            "One process reads the databases; a spare waits. 0 means that nobody reads.",
            f"sum(plimsoll_watch_lease_owner{{{WATCH}}})",
            steps=((None, panels.RED), (1.0, panels.GREEN)),
            width=6,
        ),
        panels.number(
            "Since the last turn",
            "Time since the loop ended a turn. A turn takes seconds.",
            f"max(time() - plimsoll_watch_last_round_timestamp_seconds{{{WATCH}}})",
            unit="s",
            steps=((None, panels.GREEN), (300.0, panels.RED)),
            width=6,
        ),
        panels.number(
            "Age of the limits",
            "Time since the oldest documented number of a ceiling was read from its source.",
            f"time() - min({_each('plimsoll_instance_catalog_timestamp_seconds')})",
            unit="s",
            width=6,
        ),
        panels.number(
            "Version",
            "Version of plimsoll.",
            f"max by (version) (plimsoll_build_info{{{WATCH}}})",
            legend="{{version}}",
            width=6,
        ),
    )


def _watch_work() -> tuple[Panel, ...]:
    return (
        panels.curves(
            "Cost",
            "CloudWatch's bill of this calendar month, its budget, and 30 days at the present intervals.",
            {
                "this month": f"sum(max by (job) (plimsoll_watch_month_cost_dollars{{{WATCH}}}))",
                "budget": f"sum(max by (job) (plimsoll_watch_month_budget_dollars{{{WATCH}}}))",
                "30 days": f"sum(max by (job) (plimsoll_watch_planned_cost_dollars{{{WATCH}}}))",
            },
            unit="currencyUSD",
        ),
        panels.curves(
            "Metrics requested",
            "Metrics that were requested and that CloudWatch bills, by target.",
            {"{{target}}": _rate("plimsoll_watch_metrics_requested_total", "target")},
            unit="reqps",
        ),
        panels.curves(
            "Readings",
            "Readings of targets, and what could not be read.",
            {
                "{{target}}": _rate("plimsoll_watch_polls_total", "target"),
                "{{target}}: errors": _rate("plimsoll_watch_poll_errors_total", "target"),
            },
            unit="ops",
        ),
        panels.curves(
            "Turns of the loop",
            "Turns of the loop of each process, and turns that the ledger refused.",
            {
                "{{instance}}": _rate("plimsoll_watch_rounds_total", "instance"),
                "{{instance}}: refused": _rate("plimsoll_watch_ledger_errors_total", "instance"),
            },
            unit="ops",
        ),
    )


def _watch_process() -> tuple[Panel, ...]:
    return (
        panels.curves(
            "Messages",
            "Messages that were sent, and attempts that failed, by receiver.",
            {
                "{{receiver}}": _rate("plimsoll_watch_messages_sent_total", "receiver"),
                "{{receiver}}: failed": _rate("plimsoll_watch_messages_failed_total", "receiver"),
            },
            unit="ops",
        ),
        panels.curves(
            "Messages that wait",
            "Messages that are queued and not sent, by receiver.",
            {"{{receiver}}": f"max by (receiver) (plimsoll_watch_outbox_messages{{{WATCH}}})"},
            unit="short",
        ),
        panels.curves(
            "Processor time",
            "Seconds of processor time each second, by process.",
            {"{{instance}}": _rate("process_cpu_seconds_total", "instance")},
            unit="percentunit",
        ),
        panels.curves(
            "Memory",
            "Resident memory, by process.",
            {"{{instance}}": f"max by (instance) (process_resident_memory_bytes{{{WATCH}}})"},
            unit="bytes",
        ),
    )
