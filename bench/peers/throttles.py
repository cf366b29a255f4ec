"""
Measure what else limits a disk on Linux, under the same load: mixed reads and writes at one limit.

Each is set to 4,000 operations per second of 8 kB, half of them reads, as far as it can be: cgroup v1
limits reads and writes separately, QEMU together. A peer that this machine lacks, or does not allow, is a
row that says so.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from live.gate_machine import quick_folder
from plimsoll.units import MIB

OPS_PER_S = 4000
_FILE_BYTES = 256 * MIB
_BLKIO = Path("/sys/fs/cgroup/blkio")
_QEMU = "qemu-storage-daemon"


def rows_of_peers(seconds: float) -> Iterator[str]:
    """Yield a line for each peer."""
    peers: dict[str, Callable[[float], float]] = {
        "cgroup v1 blkio, 4,000 for reads and 4,000 for writes": lambda s: _cgroup(s, OPS_PER_S),
        "cgroup v1 blkio, 2,000 for reads and 2,000 for writes": lambda s: _cgroup(s, OPS_PER_S // 2),
        "QEMU storage daemon, throttle group of 4,000, over NBD": _qemu,
    }
    for name, measure in peers.items():
        try:
            found = measure(seconds)
        except (OSError, subprocess.SubprocessError, RuntimeError, ValueError) as error:
            yield f"{name}: not measured here: {error}"
        else:
            yield f"{name}: 8 kB random mixed {found:,.0f} IOPS, {found / OPS_PER_S - 1:+.2%}"


def _cgroup(seconds: float, ops_per_s: int) -> float:
    with ExitStack() as stack:
        device = stack.enter_context(_loop())
        group = _BLKIO / f"plimsoll-{os.getpid()}"
        group.mkdir()
        stack.callback(_remove_group, group)
        number = Path(device).stat().st_rdev
        rule = f"{os.major(number)}:{os.minor(number)} {ops_per_s}"
        for direction in ("read", "write"):
            (group / f"blkio.throttle.{direction}_iops_device").write_text(rule)
        return _fio(["--ioengine=libaio", "--direct=1", f"--filename={device}"], seconds, within=group)


def _remove_group(group: Path) -> None:
    with suppress(OSError):
        group.rmdir()


@contextmanager
def _loop() -> Iterator[str]:
    losetup = shutil.which("losetup")
    if losetup is None or os.geteuid() != 0 or not _BLKIO.is_dir():
        raise RuntimeError("it needs root, loop devices and the blkio controller of cgroup v1")
    with quick_folder() as folder:
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(_FILE_BYTES)
        found = subprocess.run([losetup, "--find", "--show", str(image)], capture_output=True, text=True, check=True)
        device = found.stdout.strip()
        try:
            yield device
        finally:
            subprocess.run([losetup, "--detach", device], check=False)


def _qemu(seconds: float) -> float:
    program = shutil.which(_QEMU)
    if program is None:
        raise RuntimeError(f"there is no {_QEMU} (Debian: qemu-system-common)")
    with quick_folder() as folder:
        image, socket = folder / "image", folder / "nbd.sock"
        with image.open("wb") as file:
            file.truncate(_FILE_BYTES)
        limits = f"throttle-group,id=limits,x-iops-total={OPS_PER_S}"
        daemon = subprocess.Popen(
            [
                *(program, "--object", limits),
                *("--blockdev", f"file,node-name=disk,filename={image}"),
                *("--blockdev", "throttle,node-name=limited,throttle-group=limits,file=disk"),
                *("--nbd-server", f"addr.type=unix,addr.path={socket}"),
                *("--export", "nbd,id=export,node-name=limited,writable=on,name=disk"),
            ]
        )
        try:
            end_s = time.monotonic() + 10
            while not socket.exists() and daemon.poll() is None and time.monotonic() < end_s:
                time.sleep(0.05)
            return _fio(["--ioengine=nbd", f"--uri=nbd+unix:///disk?socket={socket}"], seconds, within=None)
        finally:
            daemon.send_signal(signal.SIGTERM)
            daemon.wait()


def _fio(arguments: list[str], seconds: float, *, within: Path | None) -> float:
    """Return reads and writes per second of 8 kB, half of each, 16 in flight."""
    shared = [
        *("fio", "--name=peer", "--rw=randrw", "--bs=8k", "--iodepth=16", "--thread"),
        *("--norandommap", "--time_based", "--ramp_time=1s", f"--runtime={seconds}s"),
        *(f"--size={_FILE_BYTES}", "--output-format=json"),
    ]

    enter = [] if within is None else ["sh", "-c", f'echo $$ > {within}/cgroup.procs; exec "$@"', "-"]
    with tempfile.TemporaryFile("w+") as output:
        done = subprocess.run(
            [*enter, *shared, *arguments], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
        output.seek(0)
        text = output.read()
    if done.returncode:
        last = (done.stderr or text).strip().splitlines()[-1:]
        raise RuntimeError(f"fio failed: {' '.join(last)}")
    job = json.loads(text[text.index("{") :])["jobs"][0]
    return float(job["read"]["iops"] + job["write"]["iops"])
