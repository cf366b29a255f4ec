"""
The Helm chart of integrations/helm, as far as no helm is needed.

`make -C integrations/helm test` renders it.
"""

import json
import sys
import tomllib
from importlib import import_module
from typing import Any

import yaml

from contract.tree import ROOT
from plimsoll.watch.config import read_settings

FOLDER = ROOT / "integrations" / "helm"
CHART = FOLDER / "plimsoll-watch"
RULES = ROOT / "integrations" / "prometheus" / "rules"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


def test_the_rules_of_the_chart_are_copies():
    """If not: cp integrations/prometheus/rules/*.yml integrations/helm/plimsoll-watch/files/."""
    copies = {path.name: path.read_bytes() for path in (CHART / "files").iterdir()}

    assert {path.name: path.read_bytes() for path in RULES.iterdir()} == copies


def test_the_schema_names_every_value():
    """Each value of values.yaml is in the schema, and no other; defaults have the types it asks for."""
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    # Helm hands this to every chart.
    schema["properties"].pop("global")

    def compare(part: dict[str, Any], values: dict[str, Any], path: str) -> None:
        assert part["properties"].keys() == values.keys(), path
        assert part["additionalProperties"] is False
        for name, value in values.items():
            below = part["properties"][name]
            if "properties" in below:
                compare(below, value, f"{path}.{name}")

    compare(schema, VALUES, "")


def test_the_table_of_values_is_that_of_the_file(monkeypatch):
    """If not: python integrations/helm/values_table.py."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))

    assert (FOLDER / "README.md").read_text(encoding="utf-8") == import_module("values_table").readme()


def test_versions_are_those_of_plimsoll():
    """The default tag of the image is this version."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))

    assert chart["appVersion"] == cargo["workspace"]["package"]["version"]


def test_the_default_configuration_is_one_of_watch(tmp_path):
    """Its keys are accepted; probes reach the address."""
    path = tmp_path / "watch.toml"
    path.write_text(VALUES["config"], encoding="utf-8")
    settings = read_settings(path)

    assert settings.web.listen_address == f"0.0.0.0:{VALUES['service']['port']}"
