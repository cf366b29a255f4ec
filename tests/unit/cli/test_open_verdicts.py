"""Inputs that cannot acquit: the command line ends with status 2 and says why."""

import re
from pathlib import Path

import numpy as np
import pytest

from builders import wander

ENHANCED = Path(__file__).parents[2] / "fixtures" / "exports" / "enhanced" / "postgres.jsonl"


TITLES = (
    "Device r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz "
    "d/s dkB/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util"
)


def iostat(seconds: int, *, queue: float, ops: float, spread: float = 0.2) -> str:
    """What `iostat -dxtk 1` prints of an NVMe device with 8 KiB requests and %util at 100."""
    lines = ["Linux 6.1.0 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)", ""]
    rng = np.random.default_rng(1)
    rates = ops * wander(rng, seconds + 1, spread)
    depths = queue * wander(rng, seconds + 1, 0.1)
    for second, (rate, depth) in enumerate(zip(rates, depths, strict=True)):
        minute, rest = divmod(second, 60)
        half = f"{rate / 2:.2f} {rate * 4:.2f} 0.00 0.00 {1e3 * depth / rate:.2f} 8.00"
        nothing = " ".join(["0.00"] * 8)
        lines += [f"11/20/2026 11:{minute:02d}:{rest:02d} AM", TITLES]
        lines += [f"nvme0n1 {half} {half} {nothing} {depth:.2f} 99.90", ""]
    return "\n".join(lines) + "\n"


@pytest.fixture
def diagnosed(run, tmp_path: Path):
    """Diagnose a text as a file of a name: exit status and report without line breaks."""

    def call(name: str, text: str) -> tuple[int, str]:
        (tmp_path / name).write_text(text)
        ran = run("diagnose", tmp_path / name)
        return ran.status, " ".join(ran.out.split())

    return call


@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_a_device_with_a_deep_queue_for_ten_minutes_is_not_acquitted(diagnosed, spread):
    """72 requests in the queue for ten minutes, and no limits known: it cannot be told."""
    status, report = diagnosed("iostat.txt", iostat(600, queue=72, ops=20_000, spread=spread))

    assert 2 == status
    assert "We cannot say whether" in report
    assert "a time of light load" in report
    assert re.search(r"Queue depth was 7[0-4] for 10 min", report)


def test_six_seconds_of_iostat_are_too_few(diagnosed):
    """Too short to show a ceiling: the report says how long to measure."""
    status, report = diagnosed("iostat.txt", iostat(6, queue=0.5, ops=500))

    assert 2 == status
    assert "in 6 s: the window is too short" in report
    assert "Measure for at least 1 min." in report


def test_one_document_of_enhanced_monitoring_is_too_few(diagnosed):
    """A single sample cannot show a ceiling."""
    status, report = diagnosed("em.json", ENHANCED.read_text().splitlines()[0])

    assert 2 == status
    assert "the window is too short" in report
    assert "1 sample of" in report


def test_a_calm_device_is_still_acquitted(diagnosed):
    """Ten minutes of shallow queue show no sign of a limit."""
    status, report = diagnosed("iostat.txt", iostat(600, queue=0.5, ops=500))

    assert 0 == status
    assert "showed no sign of a limit" in report
