"""A watch as a process, reading simulated instances from an account over HTTP, for a real Prometheus to scrape."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import watched_incident
from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.receivers.doubles import Recorder
from live.test_watch_command import configured, finished, until

ACCOUNT = "123456789012"
PATIENCE_S = 90.0
# Nothing is due again while a test runs.
SELDOM = "[poll]\n" + "".join(f"{name}interval_s = 3600\n" for name in ("", "urgent_", "far_", "longest_"))


@dataclass(frozen=True)
class ScrapedWatch:
    """A watch that runs and has read everything."""

    address: str
    process: subprocess.Popen[str]
    hook: Recorder
    """Its receiver."""


@contextmanager
def scraped_watch(folder: Path, *, through: Sequence[str] = (), has_pictures: bool = False) -> Iterator[ScrapedWatch]:
    """
    Run `plimsoll watch` until the block ends, and end it with SIGTERM.

    It watches the published incident while its baseline binds, and three instances without new data.

    Args:
        through: a program that starts it, with arguments.
        has_pictures: whether its messages have pictures.
    """
    end_s = simulated.recent_end_s()
    later_s = watched_incident.WINDOW[1] - watched_incident.at("14 05:00")
    snapshots = [
        simulated.moved(watched_incident.EXAMPLE, end_s + later_s),
        # Silent for more than the half hour that makes an instance unknown, at any minute of the hour.
        *simulated.fleet(3, end_s - simulated.HOUR_S, hours=6),
    ]
    held = folder / "account"
    held.mkdir()
    with Double(write(held, [hold(held, snapshot) for snapshot in snapshots])) as account, Recorder() as hook:
        path = configured(folder, hook.url, "budget_usd_per_month = 20\n" + SELDOM)
        text = path.read_text()
        path.write_text(
            text.replace('target = "rds:*"', f'target = "rds:*"\naccount = "{ACCOUNT}"')
            + f"picture = {str(has_pictures).lower()}\n"
        )
        watch = subprocess.Popen(
            [*through, sys.executable, "-m", "plimsoll", "watch", "--config", str(path)],
            cwd=folder,
            env=environment(account.url, folder),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert watch.stderr is not None
            address = next(
                found[1] for line in watch.stderr if (found := re.search(r"event=listening address=(\S+)", line))
            )
            until(lambda: "plimsoll_instance_info" in page_of(address), PATIENCE_S)
            yield ScrapedWatch(address, watch, hook)
        finally:
            watch.send_signal(signal.SIGTERM)
            status, _, errors = finished(watch)
    assert status == 0, errors


def page_of(address: str) -> str:
    """The metrics as a person sees them."""
    with urlopen(f"http://{address}/metrics", timeout=10) as answer:
        return str(answer.read().decode())
