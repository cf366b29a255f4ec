"""
Rules for the dashboards of Grafana.

Most are those of Grafana's dashboard-linter, which has no package here. Two of its rules are not kept: a panel
chooses by the labels of an instance instead of `job` and `instance`, and the value for all is `.*`, because an account
or a region that is not known has no label.
"""

import re
import sys
from importlib import import_module

import pytest

from contract.dashboards import FOLDER, NAMES, dashboard, exprs, panels, variables
from plimsoll.watch.law.metrics import METRIC_TABLE

COUNTERS = {metric.name for metric in METRIC_TABLE if metric.kind == "counter"}
KNOWN = {metric.name for metric in METRIC_TABLE}
# What no panel shows: the time is shown as an age.
# The last two are there only where databases are inspected.
UNSHOWN = {
    "plimsoll_watch_instances",
    "plimsoll_instance_data_timestamp_seconds",
    "plimsoll_watch_inspections_total",
    "plimsoll_watch_inspection_errors_total",
}
METRIC = re.compile(r"\b(plimsoll_\w+)")

each = pytest.mark.parametrize("name", NAMES)


def test_the_committed_dashboards_are_what_the_script_builds(monkeypatch):
    """If not: python integrations/grafana/build.py."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    built = import_module("build").documents()

    assert {f"{name}.json" for name in NAMES} == set(built)
    for name, text in built.items():
        assert (FOLDER / "dashboards" / name).read_text(encoding="utf-8") == text, name


@each
def test_a_dashboard_has_a_fixed_address_and_leads_to_the_other(name):
    """A fixed uid, no id of a database, tags, a link to all dashboards with the tag, not editable."""
    document = dashboard(name)

    assert document["uid"] == name
    assert "id" not in document
    assert document["tags"] == ["plimsoll"]
    assert document["editable"] is False
    (link,) = document["links"]
    assert (link["type"], link["tags"]) == ("dashboards", ["plimsoll"])
    assert link["includeVars"]
    assert link["keepTime"]


@each
def test_variables_choose_a_data_source_and_an_instance(name):
    """`$datasource` comes first; the others ask it again when the range of time changes."""
    first, *others = variables(dashboard(name)).values()

    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    assert [one["name"] for one in others][:3] == ["account", "region", "instance"]
    for one in others:
        assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert one["refresh"] == 2
        assert one["label"]
        assert re.fullmatch(r"label_values\(.+, \w+\)", one["query"]["query"])
        assert one.get("allValue", ".*") == ".*"


@each
def test_every_panel_has_title_description_unit_and_data_source(name):
    """Titles, ids and places are not used twice in a dashboard."""
    document = dashboard(name)
    found = panels(document)
    ids = [panel["id"] for panel in document["panels"]]
    places = [tuple(panel["gridPos"][key] for key in "xy") for panel in document["panels"]]

    assert len(set(ids)) == len(ids)
    assert len(set(places)) == len(places)
    assert len({panel["title"] for panel in found}) == len(found)
    for panel in found:
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["targets"]
        letters = [target["refId"] for target in panel["targets"]]
        assert len(set(letters)) == len(letters)
        for one in (panel, *panel["targets"]):
            assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


@each
def test_queries_choose_by_variables_and_rate_counters(name):
    """Every selector uses the variables; a counter is rated over $__rate_interval, and nothing else is."""
    for title, expr in exprs(dashboard(name)):
        selectors = re.findall(r"(\w+)\{([^}]*)\}", expr)
        assert len(METRIC.findall(expr)) <= len(selectors), title
        for metric, labels in selectors:
            is_watch = metric.startswith(("plimsoll_watch_", "plimsoll_build_", "process_"))
            assert ("$job" if is_watch else "$instance") in labels, (title, metric)
            is_rated = f"rate({metric}{{{labels}}}[$__rate_interval])" in expr
            is_counter = metric in COUNTERS or metric.endswith("_total")
            assert is_rated == is_counter, (title, metric)


def test_every_metric_is_shown():
    """No dashboard names a metric that the watch does not have, and each of its metrics is somewhere."""
    shown = {metric for name in NAMES for _, expr in exprs(dashboard(name)) for metric in METRIC.findall(expr)}

    assert shown == KNOWN - UNSHOWN
