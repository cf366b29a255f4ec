"""A real Prometheus and its promtool read the metrics of a watch, its rules and its alerts."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import watched_incident
from contract.tree import ROOT
from fixtures.aws import simulated
from fixtures.aws.double import Double
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy
from fixtures.receivers.doubles import Recorder
from live.installed import program
from live.prometheus_server import PrometheusServer
from live.scraped_watch import page_of
from live.test_watch_command import configured, finished, started, until
from plimsoll.watch.receivers.alertmanager import alert_name

pytestmark = pytest.mark.live

FOLDER = ROOT / "integrations" / "prometheus"
ALERTS, RECORDED = RULES = sorted((FOLDER / "rules").glob("*.yml"))
NAMED = re.compile(r"^ +- (?:alert|record): (\S+)$", re.MULTILINE)
FIRING = 'ALERTS{alertname="PlimsollBound", alertstate="firing"}'
# Nothing is due again while the test runs.
SELDOM = "[poll]\n" + "".join(f"{name}interval_s = 3600\n" for name in ("", "urgent_", "far_", "longest_"))
PATIENCE_S = 60.0
ACCOUNT = "123456789012"


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """The instance of the published incident (simulated), in the hours from 04:06 to 06:37 in which its baseline binds."""
    folder = tmp_path_factory.mktemp("account")
    later_s = watched_incident.WINDOW[1] - watched_incident.at("14 05:00")
    moved = simulated.moved(watched_incident.EXAMPLE, simulated.recent_end_s() + later_s)
    with Double(write(folder, [hold(folder, moved)])) as double:
        yield double


def promtool(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run promtool in the folder of the rules."""
    return subprocess.run(
        [str(program("promtool")), *arguments],
        cwd=FOLDER,
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_rules_and_examples_are_accepted():
    """By promtool, as `check config` reads the rules too."""
    found = promtool("check", "config", "prometheus.yml")

    assert (found.returncode, "FAILED" in found.stderr) == (0, False), found.stderr


def test_every_rule_has_a_test_that_passes():
    """promtool plays each; a rule without a test is named here."""
    names = {name for path in RULES for name in NAMED.findall(path.read_text())}
    tests = (FOLDER / "tests" / "plimsoll-rules.test.yml").read_text()
    found = promtool("test", "rules", "tests/plimsoll-rules.test.yml")

    assert not {name for name in names if name not in tests}
    assert (found.returncode, found.stderr) == (0, "")


def test_every_alert_has_a_runbook_and_what_people_need():
    """Summary, description, severity and a page that exists; the rules of the watch have the names it sends itself."""
    text = ALERTS.read_text()
    alerts = re.split(r"^ +- alert: ", text, flags=re.MULTILINE)[1:]
    for alert in alerts:
        for key in ("keep_firing_for", "severity", "summary", "description", "runbook_url"):
            assert f"{key}: " in alert, alert
    pages = set(re.findall(r"runbook_url: https://wiki.example/runbooks/(\S+?\.md)", text))
    rules = set(re.findall(r'plimsoll_alert\{rule="([\w-]+)"', text))

    assert pages == {path.name for path in (ROOT / "docs" / "runbooks").glob("*.md")}
    assert {alert_name(rule) for rule in rules} <= set(NAMED.findall(text))
    assert rules == {path.removesuffix(".md") for path in pages - {"watch.md"}}


def test_prometheus_scrapes_a_watch(account: Double, tmp_path: Path):
    """Every series of an instance arrives, its rules load and one fires; scrapes add no request to AWS."""
    with Proxy(account.port) as aws, Recorder() as hook:
        path = configured(tmp_path, hook.url, SELDOM)
        path.write_text(path.read_text().replace('target = "rds:*"', f'target = "rds:*"\naccount = "{ACCOUNT}"'))
        watch = started(tmp_path, aws.url, "--config", str(path))
        try:
            assert watch.stderr is not None
            address = next(
                found[1] for line in watch.stderr if (found := re.search(r"event=listening address=(\S+)", line))
            )
            until(lambda: "plimsoll_instance_info" in page_of(address), PATIENCE_S)
            asked = aws.counts()
            page = page_of(address)
            checked = promtool("check", "metrics", text=page)
            folder = tmp_path / "prometheus"
            folder.mkdir()
            hasty = folder / "alerts.yml"
            # What takes a minute in operation takes a second here.
            hasty.write_text(ALERTS.read_text().replace("for: 1m\n", "for: 1s\n"))
            jobs = {"plimsoll": {"static_configs": [{"targets": [address]}]}}
            with PrometheusServer(folder, jobs, "# EOF\n", rules=(hasty, RECORDED)) as server:
                until(lambda: server.query("plimsoll_instance_info"), PATIENCE_S)
                labels = server.query("plimsoll_instance_info")[0]["metric"]
                used = server.query("max(plimsoll_ceiling_used_ratio)")
                until(lambda: server.query("instance:plimsoll_ceiling_used_ratio:max"), PATIENCE_S)
                until(lambda: server.query(FIRING), PATIENCE_S)
                with urlopen(f"{server.url}/api/v1/rules", timeout=10) as answer:
                    groups = json.load(answer)["data"]["groups"]
            assert aws.counts() == asked
        finally:
            watch.send_signal(signal.SIGTERM)
            status, _, errors = finished(watch)

    assert status == 0, errors
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    assert (ACCOUNT, "eu-central-1", "claims-pipeline") == tuple(
        labels[name] for name in ("aws_account_id", "aws_region", "dbidentifier")
    )
    assert float(used[0]["value"][1]) > 0.9
    loaded = {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}
    assert set(loaded) == {name for path in RULES for name in NAMED.findall(path.read_text())}
    assert "err" not in loaded.values()
