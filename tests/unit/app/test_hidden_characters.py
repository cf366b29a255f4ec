"""A name with control characters reaches no terminal, page, ticket, table or metric as it is."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from contract.tree import ROOT
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.infrastructure import check_files
from plimsoll.app.render import Found, Report, render, render_brief
from plimsoll.sources.targets.one import read
from plimsoll.watch.exposition import exposition
from plimsoll.watch.law.metrics import METRIC_TABLE, MetricSample
from plimsoll_lab.reports.openmetrics import render_openmetrics

NAME = "orders\x1b[31m\x1b]0;title\x07\x7f\x9b2J\u202eevil\u200b<img src=x>"
HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]")
FORMS = ("text", "markdown", "html", "json")


def reports(tmp_path: Path) -> dict[str, Found]:
    """A diagnosis of an instance and findings on a database, both of that name."""
    snapshot = read(ROOT / "examples" / "claims-pipeline")
    snapshot = replace(snapshot, instance=replace(snapshot.instance, identifier=NAME))
    plan = json.loads((ROOT / "examples/infrastructure/plan.json").read_text())
    for change in plan["resource_changes"]:
        change["address"] += f'["{NAME}"]'
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    return {
        "a diagnosis": Report(diagnosis=diagnose_snapshot(snapshot), snapshot=snapshot),
        "findings": check_files("terraform", [tmp_path / "plan.json"]),
    }


@pytest.mark.attack(
    "A name contains escape sequences, control characters and letters that turn the order of letters around",
    "they are on no terminal, page, ticket, table and metric: `\ufffd` is in their place, and JSON escapes them",
)
@pytest.mark.parametrize("what", ["a diagnosis", "findings"])
def test_no_form_of_a_report_has_a_hidden_character(tmp_path, what):
    """JSON and SARIF keep the name, escaped."""
    found = reports(tmp_path)[what]
    forms = (*FORMS, "sarif") if what == "findings" else FORMS
    for form in forms:
        text = render(found, form)
        text = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)

        assert not HIDDEN.search(text), form
        assert "<img" not in text or form != "html", form
    assert not HIDDEN.search(re.sub("\x1b\\[[0-9;]*m", "", render(found, "text", color=True)))
    if isinstance(found, Report):
        assert not HIDDEN.search(render_brief(found))


def test_no_metric_has_a_hidden_character():
    """Neither of a watch nor of a file of a gate."""
    snapshot = read(ROOT / "examples" / "claims-pipeline")
    snapshot = replace(snapshot, instance=replace(snapshot.instance, identifier=NAME))
    samples = [
        MetricSample(name=metric.name, labels=tuple(NAME for _ in metric.labels), value=1.0) for metric in METRIC_TABLE
    ]
    for accept in ("", "application/openmetrics-text"):
        assert not HIDDEN.search(exposition(samples, accept=accept)[0].decode())
    assert not HIDDEN.search(render_openmetrics(snapshot))
