"""
Measure time and memory for small files that would unpack to gigabytes.

    python bench/bombs.py

Exit status 0 if each ends with one sentence within 10 s of processor time and 500 MB, else 1.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from fuzz import bombs

MOST_S, MOST_BYTES = 10, 500e6
FILES = {
    "six million empty results, gzip": bombs.empty_results,
    "3.4 GB of zeros, gzip": bombs.zeros,
    "60 million rows, Parquet": lambda: bombs.rows(60_000_000),
}


def main() -> int:
    is_kept = True
    for name, make in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bomb"
            path.write_bytes(make())
            size = path.stat().st_size
            command = [sys.executable, "-m", "plimsoll", "diagnose", str(path)]
            with subprocess.Popen(command, stderr=subprocess.PIPE) as child:
                errors = child.stderr.read().decode() if child.stderr else ""
                _, status, usage = os.wait4(child.pid, 0)
                child.returncode = os.waitstatus_to_exitcode(status)
        seconds, memory_bytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
        is_one = errors.count("\n") == 2 and errors.startswith("error: ")
        good = child.returncode == 2 and is_one and seconds < MOST_S and memory_bytes < MOST_BYTES
        is_kept &= good
        print(f"{name}: {size / 1e3:,.0f} kB, {seconds:.1f} s, {memory_bytes / 1e6:.0f} MB")
        print(f"  {errors.splitlines()[0] if errors else 'no output'}")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
