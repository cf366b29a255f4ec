"""Measure claims-fetch on this machine: MB/s from the S3 of CLAIMS_S3_ENDPOINT to nowhere, and its memory."""

import random
import re
import statistics
import subprocess
import time
from pathlib import Path

from claims_pipeline.programs import fetch_command, with_keys
from claims_pipeline.settings import settings_of
from claims_pipeline.storage import PART_BYTES, Storage

PARTS = 64
RUNS = 5
KEY = "bench/fetch"


def main() -> None:
    settings = settings_of()
    storage = Storage(settings)
    storage.prepare()
    part = random.Random(1).randbytes(PART_BYTES)
    upload = storage.begin(KEY, "")
    tags = [(n, storage.put_part(KEY, upload, n, part)) for n in range(1, PARTS + 1)]
    storage.complete(KEY, upload, tags)
    sha256 = storage.sha256(KEY)
    size_mb = PARTS * PART_BYTES / 1e6
    command = fetch_command(settings, KEY, sha256)
    plain = [word for word in command if word not in ("--sha256", sha256)]
    for title, words in (("plain", plain), ("with SHA-256", command)):
        rates, peak_kib = [], 0
        for _ in range(RUNS):
            begun = time.perf_counter()
            running = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=with_keys())
            while running.poll() is None:
                # Not ru_maxrss: it begins with the memory of the process that started it.
                status = Path(f"/proc/{running.pid}/status").read_text()
                peak_kib = max([peak_kib, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
                time.sleep(0.01)
            rates.append(size_mb / (time.perf_counter() - begun))
            assert running.returncode == 0
        middle, low, high = statistics.median(rates), min(rates), max(rates)
        print(f"{title}: {middle:.0f} MB/s ({low:.0f} to {high:.0f}), {peak_kib / 1024:.0f} MiB of memory")
    storage.delete(KEY)


if __name__ == "__main__":
    main()
