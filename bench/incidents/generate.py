"""
Write simulated incidents as folders of exports.

    PYTHONPATH=bench python -m incidents.generate --seed 1 --count 20 --out DIR [--only FAMILY]

Each folder has metrics.json or metrics.csv and instance.json; the truth is in DIR/truth.
"""

import argparse
import sys
from pathlib import Path

from incidents import build, export, observe


def main(argv: list[str] | None = None) -> int:
    """Write the incidents, and print one line for each."""
    parser = argparse.ArgumentParser(description="Write simulated incidents as export folders.")
    parser.add_argument("--seed", type=int, required=True, help="first seed")
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--only", choices=build.FAMILIES, help="every seed as this family")
    parser.add_argument("--shift", choices=observe.SHIFTS, help="other conditions")
    arguments = parser.parse_args(argv)
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        incident = build.generate(seed, family=arguments.only, shift=arguments.shift)
        folder = export.write(incident, arguments.out)
        print(f"{folder} ({len(incident.truth.intervals)} true intervals)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
