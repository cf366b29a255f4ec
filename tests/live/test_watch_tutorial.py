"""The tutorial of the watch, followed literally, with an account and a Slack that stand for real ones."""

import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.receivers.doubles import Recorder

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = (ROOT / "docs/guides/watch-in-five-minutes.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", TUTORIAL, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("plimsoll ")
]
CONFIGURATION = re.findall(r"```toml\n(.*?)```", TUTORIAL, re.DOTALL)


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """The simulated instance of the claims pipeline, and a quiet one; their samples go on beyond the present."""
    folder = tmp_path_factory.mktemp("account")
    end_s = int(time.time() // simulated.HOUR_S + 1) * simulated.HOUR_S
    held = [hold(folder, snapshot) for snapshot in simulated.fleet(2, end_s, hours=6)]
    with Double(write(folder, held)) as double:
        yield double


def following(command: str, folder: Path, url: str, hook: str) -> subprocess.Popen[str]:
    """A command of the tutorial as a process."""
    words = shlex.split(command)
    return subprocess.Popen(
        [sys.executable, "-m", "plimsoll", *words[1:]],
        cwd=folder,
        env={**environment(url, folder), "SLACK_WEBHOOK": hook},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_step_does_what_the_tutorial_says(account: Double, tmp_path: Path):
    """Costs, a file, one round whose message is in Slack, and a service whose page answers; nothing twice."""
    (configuration,) = CONFIGURATION
    (tmp_path / "watch.toml").write_text(configuration, encoding="utf-8")
    *single, service = COMMANDS
    with Recorder() as slack:
        ended = []
        for command in single:
            process = following(command, tmp_path, account.url, slack.url)
            output, errors = process.communicate(timeout=120)
            ended.append((command, process.returncode, output, errors))
        sent = len(slack.sent)
        process = following(service, tmp_path, account.url, slack.url)
        try:
            assert process.stderr is not None
            lines = [process.stderr.readline()]
            while "first reading" not in lines[-1]:
                assert lines[-1], lines
                lines.append(process.stderr.readline())
            listening = re.search(r"address=(\S+)", "".join(lines))
            assert listening is not None
            page = fetched(f"http://{listening[1]}/metrics")
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)

    assert [4, [0, 0]] == [len(COMMANDS), [status for _, status, *_ in ended[:2]]], ended
    assert "claims-pipeline" in ended[0][2]
    assert ended[2][1] in (0, 1), ended[2]
    assert (1 if sent else 0) == ended[2][1], slack.sent
    assert "plimsoll_instance_verdict" in page
    assert sent == len(slack.sent)


def fetched(url: str) -> str:
    """The body of a page, tried until the server answers."""
    end_s = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return str(answer.read().decode())
        except OSError:
            assert time.monotonic() < end_s
            time.sleep(0.1)
