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


DEEP = [r"We cannot say whether", r"a time of light load", r"Queue depth was 7[0-4] for 10 min"]


@pytest.mark.parametrize(
    ("text", "status", "patterns"),
    [
        # 72 requests in the queue for ten minutes, and no limits known: it cannot be told.
        *((iostat(600, queue=72, ops=20_000, spread=spread), 2, DEEP) for spread in (0.02, 0.2)),
        # Too short to show a ceiling: the report says how long to measure.
        (iostat(6, queue=0.5, ops=500), *(2, [r"in 6 s: the window is too short", r"Measure for at least 1 min\."])),
        # One document of Enhanced Monitoring is a single sample.
        (ENHANCED.read_text().splitlines()[0], 2, [r"the window is too short", r"1 sample of"]),
        # Ten minutes of shallow queue show no sign of a limit.
        (iostat(600, queue=0.5, ops=500), 0, [r"showed no sign of a limit"]),
    ],
    ids=["deep and even", "deep", "six seconds", "one document", "calm"],
)
def test_only_what_was_seen_for_long_enough_is_acquitted(run, tmp_path: Path, text, status, patterns):
    """Exit status and report, without its line breaks, of a text as a file."""
    (tmp_path / "given").write_text(text)
    ran = run("diagnose", tmp_path / "given")
    report = " ".join(ran.out.split())

    assert status == ran.status
    assert [] == [pattern for pattern in patterns if not re.search(pattern, report)]
