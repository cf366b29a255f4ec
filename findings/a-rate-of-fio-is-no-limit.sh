#!/usr/bin/env bash
# fio reads with rate_iops=100 for nine seconds. After four seconds it stands still for three, as on a machine that
# freezes or storage that hangs for a while, and goes on.
#
# One would guess: at most 100 operations per second, before and after; those of the three seconds are lost.
# What happens: the rate is an average since the start. After the pause fio does the operations that it missed at once, as
# fast as storage answers: about 300 of them in the first half second. A load that was to stay below a limit empties the
# burst credits, or is throttled, just when storage has recovered; and a mean over the whole run is 100, as if nothing
# had been.
#
# fio 3.33 (Debian 12), 2026-11-29. Seen, operations per second in each half second:
#   102 98 99 98 102 98 98 [3 s] 697 100 100 102 98
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/packages"
# fio and the libraries it is linked with; libraries of this machine are used where it has them.
libraries=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances fio |
  grep -E '^lib[a-z0-9+.-]+$' | grep -vE '^(libc6|libgcc-s1)' | sort -u)
# shellcheck disable=SC2086
(cd "$folder/packages" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq fio=3.33-3 $libraries)
for package in "$folder"/packages/*.deb; do dpkg-deb -x "$package" "$folder/tree"; done

cat >"$folder/try.py" <<'PYTHON'
import os, pathlib, signal, subprocess, sys, time

folder = pathlib.Path(sys.argv[1])
places = [str(path) for path in (folder / "tree").glob("*/lib/*-linux-gnu")] + [str(p) for p in (folder / "tree/lib").glob("*-linux-gnu")]
environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(places)}
command = [
    folder / "tree/usr/bin/fio", "--name=reads", f"--filename={folder}/file", "--size=64M", "--rw=randread", "--bs=4k",
    "--rate_iops=100", "--time_based", "--runtime=9", "--log_avg_msec=500", f"--write_iops_log={folder}/log", "--thread",
]
with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as fio:
    # The file is written first, which takes a moment.
    while not (folder / "file").exists() or (folder / "file").stat().st_blocks * 512 < 64 << 20:
        time.sleep(0.05)
    time.sleep(4)
    fio.send_signal(signal.SIGSTOP)
    time.sleep(3)
    fio.send_signal(signal.SIGCONT)
lines = (folder / "log_iops.1.log").read_text().splitlines()
samples = [tuple(int(word) for word in line.split(",")[:2]) for line in lines]
gap = max(range(1, len(samples)), key=lambda i: samples[i][0] - samples[i - 1][0])
before, after = [rate for _, rate in samples[:gap]], [rate for _, rate in samples[gap:]]
print(*before, "[pause]", *after)
sys.exit(0 if max(before) < 130 and max(after[:3]) > 400 and max(after[3:], default=0) < 130 else 1)
PYTHON
python3 "$folder/try.py" "$folder"
