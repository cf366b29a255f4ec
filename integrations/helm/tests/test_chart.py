"""Each file of `ci`: lint, render, and check what is rendered against the schemas of two releases of Kubernetes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parents[1]
CHART = FOLDER / "plimsoll-watch"
BIN = Path(sys.executable).parent
SERVERS = FOLDER.parents[1] / "build" / "servers" / "usr" / "bin"
RELEASES = ("1.33.0", "1.37.0")
CASES = sorted((CHART / "ci").glob("*-values.yaml"))
LOCATION = f"{FOLDER}/.venv/schemas/{{{{.NormalizedKubernetesVersion}}}}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"

each = pytest.mark.parametrize("values", CASES, ids=lambda path: path.stem)


def ran(program: str | Path, *arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """What a program says."""
    return subprocess.run(
        [str(program), *(str(one) for one in arguments)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def rendered(*arguments: object, release: str = RELEASES[-1]) -> str:
    """The resources of a release called `watch`."""
    found = ran(
        *(BIN / "helm", "template", "watch", CHART, "--namespace", "databases"),
        *("--kube-version", release, *arguments),
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


def resources(*arguments: object) -> dict[str, dict[str, Any]]:
    """The same by kind; of several of a kind, the first."""
    found: dict[str, dict[str, Any]] = {}
    for one in yaml.safe_load_all(rendered(*arguments)):
        if one:
            found.setdefault(one["kind"], one)
    return found


def conforms(text: str, release: str) -> subprocess.CompletedProcess[str]:
    """What kubeconform says."""
    return ran(
        *(BIN / "kubeconform", "-strict", "-summary", "-kubernetes-version", release),
        *("-schema-location", LOCATION, "-"),
        text=text,
    )


@each
def test_the_chart_has_no_lint(values):
    found = ran(BIN / "helm", "lint", "--strict", CHART, "--values", values)

    assert found.returncode == 0, found.stdout + found.stderr


@each
@pytest.mark.parametrize("release", RELEASES)
def test_what_is_rendered_conforms(values, release):
    """Nothing is skipped for want of a schema."""
    found = conforms(rendered("--values", values, release=release), release)

    assert found.returncode == 0, found.stdout
    assert "Invalid: 0, Errors: 0, Skipped: 0" in found.stdout


def test_the_schemas_refuse_what_is_wrong():
    """A property that does not exist, of Kubernetes and of the operator."""
    text = rendered("--values", CHART / "ci" / "everything-values.yaml")
    for right, wrong in (("  replicas: 1", "  replicaz: 1"), ("interval: 30s", "intervalz: 30s")):
        assert right in text
        assert conforms(text.replace(right, wrong), RELEASES[-1]).returncode == 1


def test_every_kind_is_tried():
    """The files of `ci` together render every template."""
    texts = [rendered("--values", values) for values in CASES]
    templates = [path.name for path in (CHART / "templates").glob("*.yaml")]

    assert not [name for name in templates if not any(f"templates/{name}\n" in text for text in texts)]


def test_the_pod_has_few_rights():
    """No root, no capability, a read-only root, no token; one writer of the ledger."""
    found = resources()
    spec = found["StatefulSet"]["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]

    assert spec["replicas"] == 1
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]["httpGet"]["path"] == "/-/healthy"
    assert container["readinessProbe"]["httpGet"]["path"] == "/-/ready"
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]


def test_the_rules_are_those_of_prometheus(tmp_path):
    """The same groups but for the address of the runbooks, and promtool accepts them."""
    values = CHART / "ci" / "everything-values.yaml"
    groups = resources("--values", values)["PrometheusRule"]["spec"]["groups"]
    expected = []
    for path in sorted((FOLDER.parent / "prometheus" / "rules").glob("*.yml")):
        text = path.read_text(encoding="utf-8")
        text = text.replace("https://wiki.example/", "https://wiki.databases.example/")
        expected += yaml.safe_load(text)["groups"]
    rules = tmp_path / "rules.yml"
    rules.write_text(yaml.safe_dump({"groups": groups}), encoding="utf-8")
    promtool = shutil.which("promtool", path=os.pathsep.join((os.environ["PATH"], str(SERVERS))))

    assert groups == expected
    assert promtool is not None
    assert "SUCCESS" in ran(promtool, "check", "rules", rules).stdout


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--set", "config=x"), 'listen_address = "0.0.0.0:9780"'),
        (("--set", "service.port=9781"), 'listen_address = "0.0.0.0:9781"'),
        (("--set", "serviceMonitor.enabled=true", "--set", "podMonitor.enabled=true"), "scrape the pod twice"),
        (("--set", "replicas=2"), "replicas"),
        (("--set", "image.pullPolicy=Sometimes"), "pullPolicy"),
        (("--set", "serviceMonitor.intervall=1m"), "intervall"),
    ],
)
def test_wrong_values_are_refused(arguments, error):
    found = ran(BIN / "helm", "template", "watch", CHART, *arguments, "--kube-version", "1.37.0")

    assert found.returncode == 1
    assert error in found.stderr


def test_a_template_in_the_configuration_is_rendered():
    values = CHART / "ci" / "everything-values.yaml"
    text = resources("--values", values)["ConfigMap"]["data"]["watch.toml"]

    assert 'urls = ["http://alertmanager.databases:9093"]' in text
