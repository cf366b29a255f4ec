"""
Predict real runs: measure a load on a real PostgreSQL at one instance's limits, and run it at another's.

    python bench/plan_lab.py [--require] [--only scans] [--again 3]

Eight pairs behind a gate, with waiting clients and with independent arrivals. Printed are the predicted
and the measured throughput, and the minutes at a ceiling with their predicted band. A run in which this
machine did not keep up proves nothing and is repeated. With --require the exit status is 1 if more than
one pair is more than a tenth off or outside its band.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from live.lab_cases import Rig
from live.plan_pairs import CLOCK, PAIRS, MeasuredPair, run_pair

ALLOWED_WRONG = 1
HEAD = "pair", "loop found", "before", "predicted", "measured", "off", "minutes", "band"
FORM = "{:<46} {:<10} {:>7} {:>17} {:>7} {:>7} {:>8}  {}"


def main() -> int:
    """Return exit status 0, or 1 with --require and too many wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--again", type=int, default=3)
    given = parser.parse_args()
    print(f"real PostgreSQL, emulated limits, credit clock {CLOCK}; MB/s")
    print(FORM.format(*HEAD))
    wrong = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o711)
        with Rig(Path(name), clock=CLOCK) as rig:
            for pair in PAIRS:
                if given.only not in pair.name:
                    continue
                for _ in range(given.again):
                    outcome = run_pair(rig, pair)
                    if not outcome.is_void:
                        break
                wrong += not outcome.is_right
                print(line(outcome), flush=True)
    print(f"{wrong} wrong, {ALLOWED_WRONG} allowed")
    return int(given.require and wrong > ALLOWED_WRONG)


def line(outcome: MeasuredPair) -> str:
    """Format one row of the table."""
    served, minutes = outcome.effect.served_bytes_per_s, outcome.effect.minutes_at_ceiling
    band = f"{served.low / 1e6:.1f}–{served.middle / 1e6:.1f}–{served.high / 1e6:.1f}"
    return FORM.format(
        outcome.pair.name,
        outcome.loop.value,
        f"{outcome.before_bytes_per_s / 1e6:.1f}",
        band,
        f"{outcome.served_bytes_per_s / 1e6:.1f}",
        f"{100 * outcome.error:+.1f} %",
        f"{outcome.minutes_at_ceiling:.1f}",
        f"{minutes.low:.1f}–{minutes.high:.1f}" + (" void" if outcome.is_void else ""),
    )


if __name__ == "__main__":
    sys.exit(main())
