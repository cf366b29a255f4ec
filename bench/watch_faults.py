"""
Let everything around a watch fail by dice, and count what receivers got: `python bench/watch_faults.py --worlds 100`.

Two processes watch a simulated instance through incidents, minute by minute. AWS is throttled, answers 500, has expired
credentials or is away for up to half an hour; the disk is full for up to a quarter; the receiver is down for up to an
hour; the clock is set by an hour; a process is killed every twenty minutes on average, and started again. Afterwards
every message must have come, at most once more for each kill, and every incident that was seen must have an alert.
"""

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import faults  # noqa: E402


def main() -> int:
    """
    Play as many worlds as was asked for, and print what came; the first seed that fails is named.
    """
    parser = argparse.ArgumentParser(description="Let everything around a watch fail by dice.")
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first world")
    parser.add_argument("--incidents", type=int, default=6, help="in each world")
    asked = parser.parse_args()
    began_s = time.monotonic()
    minutes = kills = messages = repeated = 0
    for seed in range(asked.seed, asked.seed + asked.worlds):
        with tempfile.TemporaryDirectory(prefix="plimsoll-faults-") as place:
            try:
                world = faults.played(Path(place), seed, incidents=asked.incidents)
            except AssertionError:
                print(f"seed {seed} fails:\n{traceback.format_exc()}")
                return 1
        minutes += len(world.letters)
        kills += world.kills
        came = [(m.key, m.number) for m in world.book.got]
        messages += len(set(came))
        repeated += len(came) - len(set(came))
    print(
        f"{asked.worlds} worlds, {minutes / 60:,.0f} h watched, {kills:,} kills: {messages:,} messages, 0 lost, "
        f"{repeated} sent again (at most {kills:,} allowed), in {time.monotonic() - began_s:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
