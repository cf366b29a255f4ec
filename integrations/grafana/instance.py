"""The dashboard of one instance: each ceiling with what is used of it, its credits and its alerts."""

import panels
from grafana_foundation_sdk.builders.dashboard import AnnotationQuery, Dashboard, Row
from panels import INSTANCE, LEFT, USED

CHOSEN = 'aws_account_id="$account", aws_region="$region", dbidentifier="$instance"'


def instance() -> Dashboard:
    """Return the dashboard."""
    made = panels.dashboard(
        "Plimsoll / Instance",
        INSTANCE,
        "One database: its ceilings, what is used of each, credits, forecasts and open alerts.",
    )
    source = "plimsoll_instance_stale"
    account = f'{source}{{aws_account_id="$account"}}'
    region = f'{source}{{aws_account_id="$account", aws_region="$region"}}'
    for name, label, query in (
        ("account", "Account", f"label_values({source}, aws_account_id)"),
        ("region", "Region", f"label_values({account}, aws_region)"),
        ("instance", "Instance", f"label_values({region}, dbidentifier)"),
    ):
        made.with_variable(panels.variable(name, label, query, has_all=False))
    made.annotation(
        AnnotationQuery()
        .name("Open alerts")
        .datasource(panels.SOURCE)
        .enable(True)
        .icon_color(panels.RED)
        .expr(_max("plimsoll_alert", 'state="bound"', by="rule, ceiling"))
    )
    _now(made)
    _ceilings(made)
    _credits(made)
    _by_unit(made)
    return made


def _of(metric: str, more: str = "") -> str:
    return f"{metric}{{{CHOSEN}, {more}}}" if more else f"{metric}{{{CHOSEN}}}"


def _max(metric: str, more: str = "", *, by: str = "ceiling") -> str:
    """Return a value for each label: an owner that just changed may be there twice."""
    return f"max by ({by}) ({_of(metric, more)})"


def _now(made: Dashboard) -> None:
    made.with_row(Row("Now"))
    for panel in (
        panels.number(
            "Verdict",
            "Verdict of the last window; unknown without new data for 15 minutes.",
            f"{_max('plimsoll_instance_verdict', by='verdict')} == 1",
            legend="{{verdict}}",
        ),
        panels.number(
            "Closest ceiling",
            "The ceiling of which most is used.",
            f"topk(1, {_max('plimsoll_ceiling_used_ratio')})",
            legend="{{ceiling}}",
        ),
        panels.number(
            "Used",
            "Use of the closest ceiling. Above 100 % credits are spent.",
            f"max({_of('plimsoll_ceiling_used_ratio')})",
            unit="percentunit",
            steps=USED,
        ),
        panels.number(
            "Lowest balance",
            "Credits that are left in the emptiest bucket.",
            f"min({_of('plimsoll_balance_ratio')})",
            unit="percentunit",
            steps=LEFT,
        ),
        panels.number(
            "Time to empty",
            "Time until credits are spent or space is full, at the present rate.",
            f"min({_of('plimsoll_time_to_empty_seconds')})",
            unit="s",
            steps=((None, panels.RED), (3600.0, panels.YELLOW), (10800.0, panels.GREEN)),
            none="not in sight",
        ),
        panels.number(
            "Age of data",
            "Age of the newest complete minute that was read.",
            f"min({_of('plimsoll_instance_data_age_seconds')})",
            unit="s",
            steps=((None, panels.GREEN), (900.0, panels.RED)),
        ),
    ):
        made.with_panel(panel)
    by = "instance_class, storage_type, engine, simulated"
    made.with_panel(
        panels.rows(
            "Instance",
            "What it is, and how often it is read.",
            {"Info": _max("plimsoll_instance_info", by=by)},
            shown={"instance_class": "Class", "storage_type": "Storage", "engine": "Engine", "simulated": "Simulated"},
            fields={"Info": {"custom.hidden": True}},
            height=3,
        )
    )


def _ceilings(made: Dashboard) -> None:
    made.with_row(Row("Ceilings"))
    nearing, bound, unknown = (
        _max("plimsoll_ceiling_state", f'state="{state}"') for state in ("nearing", "bound", "unknown")
    )
    made.with_panel(
        panels.states(
            "State of each ceiling",
            "What is found now, before any delay. Alerts follow after the delays of their rules.",
            {"{{ceiling}}": f"{nearing} + 2 * {bound} + 3 * {unknown}"},
        )
    )
    made.with_panel(
        panels.curves(
            "Use of each ceiling",
            "What is used of each baseline or fixed ceiling. Above 100 % credits are spent.",
            {"{{ceiling}}": _max("plimsoll_ceiling_used_ratio")},
            unit="percentunit",
            steps=USED,
            top=1,
        )
    )
    made.with_panel(
        panels.rows(
            "Alerts",
            "Each rule that is nearing, bound or unknown, and since when.",
            {
                "State": _max("plimsoll_alert", by="rule, ceiling, state"),
                "Since": "1000 * " + _max("plimsoll_alert_start_timestamp_seconds", by="rule, ceiling"),
            },
            shown={"rule": "Rule", "ceiling": "Ceiling", "state": "Found"},
            fields={"Since": {"unit": "dateTimeFromNow"}, "State": {"custom.hidden": True}},
            height=8,
            width=12,
        )
    )


def _credits(made: Dashboard) -> None:
    made.with_row(Row("Credits"))
    made.with_panel(
        panels.curves(
            "Balance",
            "Credits that are left in each bucket. At 0 % the baseline applies.",
            {"{{ceiling}}": _max("plimsoll_balance_ratio")},
            unit="percentunit",
            top=1,
        )
    )
    made.with_panel(
        panels.curves(
            "Time to empty by ceiling",
            "Time until credits are spent or space is full, at the present rate. No line: not in sight.",
            {"{{ceiling}}": _max("plimsoll_time_to_empty_seconds")},
            unit="s",
        )
    )


def _by_unit(made: Dashboard) -> None:
    made.with_row(Row("What is used, and what is allowed"))
    for title, name, unit in (
        ("Throughput", "bytes_per_second", "Bps"),
        ("Operations", "operations_per_second", "iops"),
        ("Memory and space", "bytes", "bytes"),
        ("Connections", "connections", "short"),
    ):
        made.with_panel(
            panels.curves(
                title,
                "What is used of each ceiling, and what it allows.",
                {
                    "{{ceiling}}": _max(f"plimsoll_served_{name}"),
                    "{{ceiling}}: {{phase}} allowed": _max(f"plimsoll_ceiling_{name}", by="ceiling, phase"),
                },
                unit=unit,
            )
        )
        made.with_panel(
            panels.curves(
                f"{title}: headroom",
                "What is free below each baseline or fixed ceiling; 0 above it.",
                {"{{ceiling}}": _max(f"plimsoll_headroom_{name}")},
                unit=unit,
            )
        )
    made.with_panel(
        panels.curves(
            "Time between polls",
            "It is short while something nears or binds, and long for an instance far from every ceiling.",
            {"interval": f"max({_of('plimsoll_instance_poll_interval_seconds')})"},
            unit="s",
        )
    )
    made.with_panel(
        panels.curves(
            "Age of data over time",
            "Age of the newest complete minute that was read; CloudWatch is minutes late.",
            {"age": f"min({_of('plimsoll_instance_data_age_seconds')})"},
            unit="s",
        )
    )
