"""From a watch over a real Prometheus with our rules to a real Alertmanager with our routes, as amtool shows it."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contract.tree import ROOT
from fixtures.receivers.doubles import Recorder
from live.prometheus_server import PrometheusServer
from live.scraped_watch import ACCOUNT, ScrapedWatch, scraped_watch
from live.test_watch_command import until
from plimsoll_lab.servers.prometheus import Alertmanager
from plimsoll_lab.servers.store import default_store

pytestmark = pytest.mark.live

FOLDER = ROOT / "integrations" / "prometheus"
# A scrape of a busy machine may take more than a second.
SCRAPE_S = 5
# Prometheus sends again after a minute what did not arrive.
SENT_AGAIN_S = 180.0
# What takes minutes to fire, to end or to be told in operation takes a second here.
DELAY = re.compile(r"^( +(?:for|keep_firing_for): )\d+[mhd]$", re.MULTILINE)
AT_ONCE = {"group_wait": "0s", "group_interval": "1s"}


def amtool(*arguments: str) -> str:
    """What Alertmanager's own client prints."""
    program = default_store().get(Alertmanager.package) / "usr/bin/amtool"
    return subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True, timeout=30).stdout


@pytest.fixture(scope="module")
def told() -> Iterator[Recorder]:
    """Who Alertmanager tells, in the place of Slack."""
    with Recorder() as running:
        yield running


@pytest.fixture(scope="module")
def alertmanager(told: Recorder) -> Iterator[Alertmanager]:
    """With the routes and inhibitions of the example."""
    example = yaml.safe_load((FOLDER / "alertmanager.yml").read_text(encoding="utf-8"))
    example["route"] |= AT_ONCE
    (receiver,) = example["receivers"]
    receiver.pop("slack_configs")
    receiver["webhook_configs"] = [{"url": told.url}]
    with Alertmanager(example) as running:
        yield running


def hasty(folder: Path) -> list[Path]:
    """The rules with a second in the place of each delay."""
    made = []
    for path in sorted((FOLDER / "rules").glob("*.yml")):
        copy = folder / path.name
        copy.write_text(DELAY.sub(r"\g<1>1s", path.read_text(encoding="utf-8")), encoding="utf-8")
        made.append(copy)
    return made


@pytest.fixture(scope="module")
def ended(
    alertmanager: Alertmanager, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, list[dict[str, Any]]]]:
    """What amtool shows of a watch while it runs, by name of the alert; afterwards the watch has ended."""
    folder = tmp_path_factory.mktemp("prometheus")
    shown: dict[str, list[dict[str, Any]]] = {}

    def all_arrived(watch: ScrapedWatch) -> bool:
        assert watch.process.poll() is None
        shown.clear()
        # Alerts of another watch, before this test was run again, end minutes later.
        for alert in alerts(alertmanager, f"instance={watch.address}"):
            shown.setdefault(alert["labels"]["alertname"], []).append(alert)
        return len(shown.get("PlimsollUnknown", ())) == 3 and "PlimsollBound" in shown

    with scraped_watch(tmp_path_factory.mktemp("watch")) as watch:
        jobs = {"plimsoll": {"static_configs": [{"targets": [watch.address]}]}}
        address = alertmanager.address.removeprefix("http://")
        server = PrometheusServer(
            folder, jobs, "# EOF\n", rules=hasty(folder), alertmanagers=[address], interval_s=SCRAPE_S
        )
        server.__enter__()
        try:
            until(lambda: all_arrived(watch), SENT_AGAIN_S)
        except BaseException:
            server.__exit__()
            raise
    try:
        yield shown
    finally:
        server.__exit__()


def alerts(alertmanager: Alertmanager, *matchers: str) -> list[dict[str, Any]]:
    """Active alerts; those that are inhibited too."""
    address = f"--alertmanager.url={alertmanager.address}"
    # One question, because an alert may become inhibited between two.
    states = ("--active", "--inhibited", "--unprocessed")
    return json.loads(amtool(address, "alert", "query", *states, "-o", "json", *matchers))


def test_the_example_is_accepted():
    """By Alertmanager's own check."""
    assert "SUCCESS" in amtool("check-config", str(FOLDER / "alertmanager.yml"))


def test_amtool_shows_the_alert_of_an_instance(ended):
    """With the labels of the instance and of the ceiling, the severity and the runbook."""
    (alert,) = ended["PlimsollBound"]

    assert alert["labels"] | {"instance": ""} == {
        "alertname": "PlimsollBound",
        "aws_account_id": ACCOUNT,
        "aws_region": "eu-central-1",
        "dbidentifier": "claims-pipeline",
        "ceiling": "instance_ebs_throughput",
        "rule": "bound",
        "state": "bound",
        "severity": "critical",
        "job": "plimsoll",
        "instance": "",
    }
    assert alert["annotations"]["summary"] == "claims-pipeline is at its instance_ebs_throughput"
    assert alert["annotations"]["runbook_url"].endswith("/runbooks/bound.md")
    assert alert["status"]["state"] == "active"


def test_one_notification_has_all_alerts_of_an_instance(ended, told):
    """As the example groups them."""

    def names() -> set[str]:
        return {
            alert["labels"]["alertname"]
            for sent in list(told.sent)
            if sent.json["groupLabels"].get("dbidentifier") == "claims-pipeline"
            for alert in sent.json["alerts"]
        }

    until(lambda: {"PlimsollBound", "PlimsollBalanceEmpty"} <= names(), SENT_AGAIN_S)
    assert all(
        sent.json["groupLabels"].keys() == {"aws_account_id", "aws_region", "dbidentifier"}
        for sent in list(told.sent)
        if sent.json["commonLabels"].get("rule")
    )


def test_a_watch_that_ended_is_reported(ended, alertmanager):
    """Prometheus says so, as the watch no longer can; alerts of its instances end."""
    (bound,) = ended["PlimsollBound"]
    its = ("alertname=PlimsollBound", f"instance={bound['labels']['instance']}")
    until(lambda: alerts(alertmanager, "alertname=PlimsollWatchDown"), SENT_AGAIN_S)
    until(lambda: not alerts(alertmanager, *its), SENT_AGAIN_S)
    (alert, *_) = alerts(alertmanager, "alertname=PlimsollWatchDown")

    assert alert["labels"]["severity"] == "critical"
    assert alert["annotations"]["runbook_url"].endswith("/runbooks/watch.md#nobody-watches")
