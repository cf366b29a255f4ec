"""
Measure the formatter: MB/s a core and peak memory, on a synthetic stream through a pipe.

The stream is a block of generated records that is repeated with new keys. Rows go to /dev/null.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from claims_pipeline.generate.bulk import block_of, blocks
from claims_pipeline.generate.files import Counts
from claims_pipeline.layout import records

RSS_MIB_MAX = 200
MONTH = 2022 * 12 + 11


def measure(program: str, kind: str, size_bytes: int) -> dict[str, float]:
    """Format a stream and return seconds on the clock and of CPU, MB/s of CPU and peak MiB."""
    layout = records()[kind]
    block = block_of(layout, 1, "A1001", MONTH)
    counts = Counts(layout)
    words = ["--kind", kind, "--organisation", "A1001", "--file", "bench", "--file-id", "1"]
    command = [program, *words, "--quarantine", os.devnull]
    began = time.monotonic()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    written = 0
    for part in blocks(block, size_bytes, counts):
        child.stdin.write(part)
        written += len(part)
    peak_mib = _peak_mib(child.pid)
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    clock_s = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, f"status {child.returncode}"
    cpu_s = usage.ru_utime + usage.ru_stime
    return {
        "mb": written / 1e6,
        "clock_s": clock_s,
        "cpu_s": cpu_s,
        "mb_per_cpu_s": written / 1e6 / cpu_s,
        "peak_mib": peak_mib,
    }


def _peak_mib(pid: int) -> float:
    """Return the most memory that a process had until now; what wait4 tells begins with ours."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=10, help="of part_a_claims (default: 10)")
    parser.add_argument("--others-gb", type=float, default=1, help="of each other kind (default: 1)")
    arguments = parser.parse_args()
    program = str(Path(os.environ["CLAIMS_PROGRAMS"]) / "claims-format")
    print("| kind | MB | on the clock | CPU | MB/s a core | peak memory |\n|---|---|---|---|---|---|")
    for kind in records():
        size = arguments.gb if kind == "part_a_claims" else arguments.others_gb
        if not size:
            continue
        found = measure(program, kind, round(size * 1e9))
        print(
            f"| `{kind}` | {found['mb']:,.0f} | {found['clock_s']:.1f} s | {found['cpu_s']:.1f} s "
            f"| {found['mb_per_cpu_s']:.0f} | {found['peak_mib']:.0f} MiB |",
            flush=True,
        )
        assert found["peak_mib"] <= RSS_MIB_MAX, f"{found['peak_mib']} MiB"
    return 0


if __name__ == "__main__":
    sys.exit(main())
