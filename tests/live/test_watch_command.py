"""The command as a process, against an account over HTTP: cost, one round, signals, two of them."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.aws.proxy import Proxy
from fixtures.receivers.doubles import Recorder

pytestmark = pytest.mark.live

END_S = simulated.recent_end_s()


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """Three simulated instances whose samples end within the last hour."""
    folder = tmp_path_factory.mktemp("account")
    held = [hold(folder, snapshot) for snapshot in simulated.fleet(3, END_S, hours=6)]
    with Double(write(folder, held)) as double:
        yield double


def started(folder: Path, url: str, *arguments: str) -> subprocess.Popen[str]:
    """`plimsoll watch …` in a folder that is also its home."""
    return subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "watch", *arguments],
        cwd=folder,
        env=environment(url, folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status and both streams."""
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def configured(folder: Path, hook: str, more: str = "") -> Path:
    """A configuration with one webhook."""
    path = folder / "watch.toml"
    path.write_text(
        f'{more}\n[[targets]]\ntarget = "rds:*"\n[web]\nlisten_address = "127.0.0.1:0"\n'
        f'[[receivers]]\nkind = "webhook"\nname = "ops"\nurl = "{hook}"\n'
    )
    return path


def test_check_asks_for_descriptions_only(account: Double, tmp_path: Path):
    """Instances and the arithmetic; not one metric is asked for."""
    with Proxy(account.port) as aws:
        status, output, errors = finished(started(tmp_path, aws.url, "check", "rds:*"))
        counts = aws.counts()

    assert (status, errors) == (0, "")
    assert "cloudwatch:GetMetricData" not in counts
    assert "simulated-00-claims-pipeline" in output
    assert "42 metrics × 8,640 polls in 30 days × $0.01 per 1,000 metrics = $3.63 a month" in output


def test_a_budget_that_cannot_hold_is_refused(account: Double, tmp_path: Path):
    """One sentence with both amounts, and status 2."""
    path = configured(tmp_path, "http://127.0.0.1:1/", "budget_usd_per_month = 0.1")

    status, _, errors = finished(started(tmp_path, account.url, "check", "--config", str(path)))

    assert status == 2
    assert errors.splitlines() == [
        "error: a budget of $0.10 a month is too small: reading every 1800 s costs $0.60",
        "hint: Raise budget_usd_per_month, or name fewer instances.",
    ]


def test_two_processes_ask_as_much_as_one(account: Double, tmp_path: Path):
    """The second one asks AWS nothing. Both end at SIGTERM, and the first one reloads at SIGHUP."""
    with Proxy(account.port) as aws, Proxy(account.port) as spare, Recorder() as hook:
        path = configured(tmp_path, hook.url)
        first = started(tmp_path, aws.url, "--config", str(path))
        try:
            until(lambda: aws.counts().get("cloudwatch:GetMetricData", 0) > 0)
            second = started(tmp_path, spare.url, "--config", str(path))
            try:
                assert second.stderr is not None
                assert "event=listening" in second.stderr.readline()
                first.send_signal(signal.SIGHUP)
                time.sleep(1.0)
            finally:
                second.send_signal(signal.SIGTERM)
                ended = finished(second)
        finally:
            first.send_signal(signal.SIGTERM)
            status, output, errors = finished(first)

    assert (status, output) == (0, ""), errors
    assert "event=reloaded" in errors
    assert "event=stopped" in errors
    assert (ended[0], spare.counts()) == (0, {})


def until(check: object, patience_s: float = 30.0) -> None:
    """Wait until something is true."""
    assert callable(check)
    end_s = time.monotonic() + patience_s
    while not check():
        assert time.monotonic() < end_s
        time.sleep(0.05)
