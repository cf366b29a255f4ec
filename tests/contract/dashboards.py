"""The dashboards of integrations/grafana, as they are committed."""

import json
from collections.abc import Iterator
from typing import Any

from contract.tree import ROOT

FOLDER = ROOT / "integrations" / "grafana"
NAMES = ("plimsoll-fleet", "plimsoll-instance")


def dashboard(name: str) -> dict[str, Any]:
    """One of them, decoded."""
    return json.loads((FOLDER / "dashboards" / f"{name}.json").read_text(encoding="utf-8"))


def panels(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Its panels, without rows."""
    return [panel for panel in document["panels"] if panel["type"] != "row"]


def exprs(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Every query with the title of its panel; the query of an annotation has the annotation's name."""
    for panel in panels(document):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for annotation in document["annotations"].get("list", []):
        if "expr" in annotation:
            yield annotation["name"], annotation["expr"]


def variables(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Its variables by name."""
    return {one["name"]: one for one in document["templating"]["list"]}
