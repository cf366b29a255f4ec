"""The published incident, read from an account over HTTP and told to a webhook, as it was reviewed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import watched_incident
from fixtures.aws import proxy, simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy, Rule
from fixtures.receivers.doubles import Recorder
from plimsoll.app.watch import open_targets
from plimsoll.watch.config import open_receivers

pytestmark = pytest.mark.live

DAY_S = 86_400
# A whole number of days, so that the clock times of the incident stay.
DATE = re.compile(r"20\d\d-\d\d-\d\d(?= \d\d:\d\d)")
SHIFT_S = (simulated.recent_end_s() - watched_incident.WINDOW[1]) // DAY_S * DAY_S


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """An account that has the instance of the incident, with its metrics of these days."""
    folder = tmp_path_factory.mktemp("account")
    moved = simulated.moved(watched_incident.EXAMPLE, watched_incident.WINDOW[1] + SHIFT_S)
    with Double(write(folder, [hold(folder, moved)])) as double:
        yield double


@pytest.mark.parametrize("fault", [proxy.broken, proxy.expired])
def test_aws_away_resolves_nothing(account: Double, tmp_path: Path, fault: proxy.Fault):
    """From the second hour on every request fails: one message that nothing is known, and no end of any alert."""
    with (
        Proxy(account.port) as aws,
        Recorder() as hook,
        watched_incident.only_these_variables(environment(aws.url, tmp_path)),
    ):
        settings = watched_incident.settings_of(tmp_path / "l.db", hook.url)
        (target,), (receiver,) = open_targets(settings), open_receivers(settings, {})
        until_s = watched_incident.at("14 02:30") + SHIFT_S
        read = target.read

        def failing(window_s, is_chosen):  # type: ignore[no-untyped-def]
            if window_s[1] >= until_s and not aws.rules:
                aws.rules.append(Rule(fault=fault))
            return read(window_s, is_chosen)

        broken = replace(target, read=failing)
        watched_incident.watched(broken, settings, receiver, shift_s=SHIFT_S, until_s=watched_incident.at("14 03:30"))
    got = [json.loads(sent.body) for sent in hook.sent]

    assert [(m["rule"], m["state"]) for m in got] == [("bound", "nearing"), ("bound", "bound"), ("unknown", "unknown")]
