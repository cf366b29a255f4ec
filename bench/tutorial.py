"""
Time the three ways of docs/tutorial.md as a new user walks them: installation with its downloads, then each command.

Run: python bench/tutorial.py [--require] [--wheel FILE] [--old-python PYTHON] [--new-python PYTHON]
The package is a wheel built from this tree before the clock starts; everything else comes from the package index, into
a home folder that is new and empty for each way. The account is an AWS double on this machine, the host behind SSH is
this machine, and what is typed and clicked is not timed.
`--old-python` stands for CloudShell's Python 3.9, into which pip installs uv. `--new-python` is given to uv instead of
the page's 3.12; with `--new-python 3.12` uv downloads one. Both are by default the Python that this environment has.
`--require`: exit status 1 if a way takes more than five minutes.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from contract.documents import blocks, commands, is_plimsoll  # noqa: E402
from fixtures.aws.double import Double, environment  # noqa: E402
from fixtures.aws.tutorial import holdings  # noqa: E402

MOST_S = 300
HERE = str(Path(sys.base_prefix) / "bin" / "python3")
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
SHELL = [line for _, lines in blocks(PAGE, "sh") for line in lines]
SERVICE = "plimsoll watch 'rds:*'"
SSH = '#!/bin/sh\nshift\nexec sh -c "$*"\n'


class Step(NamedTuple):
    """Hold one command of a way, and the seconds it took."""

    command: str
    took_s: float


class Walk(NamedTuple):
    """Hold one way of the tutorial."""

    name: str
    steps: list[Step]
    home_mb: float
    """What the home folder holds at the end, caches included."""

    @property
    def total_s(self) -> float:
        return sum(step.took_s for step in self.steps)


def built_wheel(folder: Path) -> Path:
    """Build the wheel of this tree."""
    words = [sys.executable, "packaging/backend.py", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, stdout=sys.stderr)
    (wheel,) = folder.glob("*.whl")
    return wheel


def walked(name: str, lines: list[str], url: str, home: Path) -> Walk:
    """Run the lines of one way in an empty home; stop with an error if one does not do what it should."""
    variables = environment(url, home, COLUMNS="80")
    # Caches of this machine's user would be downloads that a new user does not have yet.
    for variable in ("UV_CACHE_DIR", "PIP_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "VIRTUAL_ENV"):
        variables.pop(variable, None)
    (home / "ssh").write_text(SSH)
    (home / "ssh").chmod(0o755)
    # The home is a temporary one, so that nothing gets into the packages of the system.
    variables["PIP_BREAK_SYSTEM_PACKAGES"] = "1"
    variables["PATH"] = f"{home}:{home}/.local/bin:{home}/plimsoll/bin:{os.environ['PATH']}"
    steps = []
    for line in lines:
        begun_s = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=home,
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        steps.append(Step(line, time.monotonic() - begun_s))
        # 1: at a limit; 2 is a right answer only for a disk that two minutes show nothing of.
        if done.returncode not in ((0, 1, 2) if "ssh " in line else (0, 1)):
            sys.exit(f"error: {line}\n{done.stdout}{done.stderr}")
        print(f"  {steps[-1].took_s:6.1f} s  {line[:110]}", file=sys.stderr)
    files = {f.stat().st_ino: f.stat().st_size for f in home.rglob("*") if f.is_file()}
    return Walk(name, steps, sum(files.values()) / 1e6)


def shown(after: str) -> list[str]:
    """Return the plimsoll commands of the page's console blocks that name a bundled file."""
    return [one.command for one in commands(PAGE) if after in one.command]


def ways(wheel: Path, old: str, new: str) -> dict[str, list[str]]:
    """Return the lines of each way, with the wheel in place of the name of the package."""

    def local(line: str) -> str:
        line = line.replace("python3 -m pip install --user", f"{shlex.quote(old)} -m pip install -q --user")
        line = line.replace("python3 -m venv", f"{shlex.quote(sys.executable)} -m venv")
        return line.replace("--python 3.12", f"--python {new}").replace("plimsoll-db", str(wheel))

    on_aws = [line for line in SHELL if is_plimsoll(line) and "rds:" in line and line != SERVICE]
    (over_ssh,) = [line for line in SHELL if line.startswith("ssh ")]
    uv, pip = (next(line for line in SHELL if word in line) for word in ("install --user uv", "venv"))
    tool = next(line for line in SHELL if line.startswith("uv tool install"))
    files = [*shown("console.csv"), *shown("grafana.csv")]
    return {
        "CloudShell": [local(uv), local(tool), *on_aws],
        "a file": [local(pip), *(line.replace("examples/", f"{ROOT}/examples/") for line in files)],
        "a host over SSH": [local(pip), over_ssh],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--old-python", default=HERE)
    parser.add_argument("--new-python", default=HERE)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plimsoll-tutorial-") as place:
        folder = Path(place)
        wheel = (given.wheel or built_wheel(folder / "wheels")).resolve()
        with Double(holdings(folder)) as double:
            walks = []
            for name, lines in ways(wheel, given.old_python, given.new_python).items():
                home = folder / name.replace(" ", "-")
                home.mkdir()
                walks.append(walked(name, lines, double.url, home))
    print("| way | installation, s | commands, s | together, s | home folder, MB |")
    print("|---|---|---|---|---|")
    for walk in walks:
        installed_s = sum(step.took_s for step in walk.steps if "install" in step.command)
        print(
            f"| {walk.name} | {installed_s:.0f} | {walk.total_s - installed_s:.0f} "
            f"| {walk.total_s:.0f} | {walk.home_mb:.0f} |"
        )
    if given.require and any(walk.total_s > MOST_S for walk in walks):
        sys.exit(1)


if __name__ == "__main__":
    main()
