"""The unit of integrations/systemd: systemd's own checks, and a watch under its filters."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from contract.tree import ROOT
from live.confined import allowed, setting
from live.scraped_watch import PATIENCE_S, page_of, scraped_watch
from live.test_watch_command import until

pytestmark = pytest.mark.live

UNIT = ROOT / "integrations" / "systemd" / "plimsoll-watch.service"
TEXT = UNIT.read_text(encoding="utf-8")
CONFINED = [sys.executable, str(Path(__file__).parent / "confined.py"), str(UNIT)]
PROGRAM = Path(sys.executable).parent / "plimsoll"
EXPOSURE_MAX = 2.0


def analyzed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What systemd-analyze says."""
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_the_unit_is_accepted(tmp_path: Path):
    """With the program of this checkout, as `verify` wants programs that exist."""
    unit = tmp_path / UNIT.name
    unit.write_text(TEXT.replace("/opt/plimsoll/bin/plimsoll", str(PROGRAM)))
    found = analyzed("verify", "--man=no", str(unit))

    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


def test_the_unit_is_hardened():
    """systemd rates its exposure at 2.0 of 10 at most."""
    found = analyzed("security", "--offline=true", "--no-pager", "--threshold=20", str(UNIT))
    rated = re.search(r"Overall exposure level for \S+: (\d+\.\d)", found.stdout)

    assert found.returncode == 0, found.stdout + found.stderr
    assert rated is not None
    assert float(rated[1]) <= EXPOSURE_MAX


def test_the_start_uses_options_that_exist():
    """Each option is in the help, and the folders are those that the unit gives."""
    _, command, *arguments = shlex.split(setting(TEXT, "ExecStart")[0])
    shown = subprocess.run(
        [str(PROGRAM), command, "--help"], capture_output=True, text=True, check=True, timeout=60
    ).stdout

    options = [argument for argument in arguments if argument.startswith("--")]
    assert options == ["--config", "--ledger", "--start-anyway"]
    assert all(re.search(rf"^ +{option} ", shown, re.MULTILINE) for option in options)
    assert arguments[3].startswith(f"/var/lib/{setting(TEXT, 'StateDirectory')[0]}/")
    assert setting(TEXT, "ExecReload") == ["kill -HUP $MAINPID"]


def test_the_filters_refuse_what_a_watch_does_not_need():
    """Netlink sockets, a lower nice value and unmounting are refused: the filters are really there."""
    program = (
        "import ctypes, os, socket\n"
        "for attempt in (lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW), lambda: os.nice(-1)):\n"
        "    try:\n"
        "        attempt()\n"
        "    except PermissionError:\n"
        "        print('refused')\n"
        "print(ctypes.CDLL(None).umount(b'/nowhere'))\n"
    )
    found = subprocess.run(
        [*CONFINED, sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )

    assert (found.stdout.split(), found.stderr) == (["refused", "refused", "-1"], "")
    assert not {"mount", "ptrace", "reboot", "setuid", "bpf"} & allowed(TEXT)


def test_a_watch_works_under_the_filters(tmp_path: Path):
    """It reads an account, judges, draws a picture, sends it, answers a scrape, reloads and ends with 0."""
    with scraped_watch(tmp_path, through=CONFINED, has_pictures=True) as watch:
        until(lambda: len(watch.hook.sent) >= 2, PATIENCE_S)
        status = Path(f"/proc/{watch.process.pid}/status").read_text(encoding="utf-8")
        os.kill(watch.process.pid, signal.SIGHUP)
        until(lambda: "plimsoll_watch_rounds_total 2" in page_of(watch.address), PATIENCE_S)

    assert "Seccomp:\t2" in status
    assert any(sent.json["picture_png"] for sent in watch.hook.sent)
