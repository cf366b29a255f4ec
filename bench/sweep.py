"""
Run the I/O-size experiment on every configuration, and compare the fit with the enforced limits.

    python bench/sweep.py [--require] [--only m4.large-gp2-30] [--for-each 4s] [-o out.json]

A real PostgreSQL reads a real table behind the gate; each configuration is measured at its baseline and
at its burst. Printed are the limits found and those enforced, and the largest deviation. With --require
the exit status is 1 if one is not found or deviates by more than promised.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

PROMISED = 0.02


def main() -> int:
    """Run the experiment, print the results, and judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--for-each", default="4s")
    parser.add_argument("-o", "--out", type=Path, default=Path("bench/out/sweep.json"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable, "-m", "plimsoll", "lab", "run", "io-size-sweep",
        "--for-each", arguments.for_each, "-o", str(arguments.out), "--format", "json",
    ]  # fmt: skip
    for name in arguments.only:
        command += ["--only", name]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if not arguments.out.exists() or done.returncode not in (0, 2):
        print(f"the experiment ended with status {done.returncode}")
        return 1
    print(f"\n{'configuration':<44}{'limit':<24}{'enforced':>14}{'found':>14}{'off':>8}")
    worst, missing = 0.0, 0
    for one in json.loads(arguments.out.read_text())["configurations"]:
        for truth in one["truths"]:
            if truth["unit"] == "bytes":
                continue
            found = truth["found"]
            name = f"{truth['name']}, {truth['phase']}"
            known = truth["known"]
            if found is None:
                missing += 1
                print(f"{one['sweep']['subject']:<44}{name:<24}{known:>14,.0f}{'not found':>14}")
                continue
            off = found["value"] / known - 1
            worst = max(worst, abs(off))
            line = f"{one['sweep']['subject']:<44}{name:<24}{known:>14,.0f}{found['value']:>14,.0f}"
            print(f"{line}{off:>+8.2%}")
    print(f"\nlargest deviation {worst:.2%} (promised {PROMISED:.0%}), not found {missing}")
    print(f"took {time.monotonic() - begin:.0f} s")
    return int(arguments.require and (worst > PROMISED or missing > 0 or done.returncode != 0))


if __name__ == "__main__":
    raise SystemExit(main())
