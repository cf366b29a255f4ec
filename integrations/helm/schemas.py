"""
Write the schemas that kubeconform reads: `python schemas.py FOLDER RELEASE…`.

Those of Kubernetes come from the package kubernetes-validate, those of the Prometheus operator from the models of
cloudcoil. A property that a schema does not name is an error.
"""

import json
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
from cloudcoil.models.prometheus_operator import v1

# Resources that the chart can create.
KUBERNETES = (
    "configmap-v1.json",
    "networkpolicy-networking-v1.json",
    "poddisruptionbudget-policy-v1.json",
    "service-v1.json",
    "serviceaccount-v1.json",
    "statefulset-apps-v1.json",
)
OPERATOR = (v1.ServiceMonitor, v1.PodMonitor, v1.PrometheusRule)


def of_kubernetes(version: str, folder: Path) -> None:
    """Write those of a release of Kubernetes, each with the definitions that it refers to: kubeconform follows no file."""
    home = Path(kubernetes_validate.__file__).parent
    source = home / "kubernetes-json-schema" / f"v{version}-local-strict"
    definitions = json.loads((source / "_definitions.json").read_text(encoding="utf-8"))
    shared = {key: definitions[key] for key in ("$schema", "$defs")}
    for name in KUBERNETES:
        text = (source / name).read_text(encoding="utf-8")
        schema = json.loads(text.replace("/api/_definitions.json#", "#")) | shared
        (folder / name).write_text(json.dumps(schema), encoding="utf-8")


def of_the_operator(folder: Path) -> None:
    """Write those of the operator's resources."""
    for model in OPERATOR:
        schema = closed(model.model_json_schema(by_alias=True))
        name = f"{model.__name__.lower()}-monitoring-v1.json"
        (folder / name).write_text(json.dumps(schema), encoding="utf-8")


def closed(schema: Any) -> Any:
    """Return a schema of which every object with properties has no others."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


if __name__ == "__main__":
    place = Path(sys.argv[1])
    for release in sys.argv[2:]:
        (place / f"v{release}").mkdir(parents=True, exist_ok=True)
        of_kubernetes(release, place / f"v{release}")
        of_the_operator(place / f"v{release}")
