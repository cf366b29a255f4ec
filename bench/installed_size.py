"""
Measure the size of an installation: MB of each package of a plain one, and of what each extra adds.

Run: python bench/installed_size.py [--from PYTHON] [--require]
By default the dependencies of pyproject.toml are installed into a fresh environment, from wheels, in the
versions of requirements/run.txt; with `--from` those of an existing interpreter are measured. Files are
counted as they are in wheels, and with the bytecode that an installation compiles for them.
`--require`: exit status 1 if the files of a plain installation have more than 150 MB, without bytecode.
"""

import argparse
import json
import marshal
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
MOST_MB = 150
OURS = "plimsoll-db"
LAB = "plimsoll-lab"


class Size(NamedTuple):
    """Hold the bytes of files."""

    shipped: int
    bytecode: int

    def __add__(self, other: "Size") -> "Size":  # type: ignore[override]
        return Size(self.shipped + other.shipped, self.bytecode + other.bytecode)

    @property
    def whole_mb(self) -> float:
        return (self.shipped + self.bytecode) / 1e6


NOTHING = Size(0, 0)


def size_of(one: Distribution) -> Size:
    """Return the size of the files that the record of a package lists and that exist."""
    sizes = NOTHING
    for file in one.files or []:
        path = Path(str(one.locate_file(file)))
        if path.is_file():
            size = path.stat().st_size
            sizes += Size(0, size) if path.suffix == ".pyc" else Size(size, 0)
    return sizes


def own_size(package: str, compiled: str) -> Size:
    """Return the size of a package of ours: what is committed, what is compiled, and its bytecode."""
    listed = subprocess.check_output(["git", "ls-files", package], cwd=ROOT, text=True)
    files = [file for name in listed.split("\n") if (file := ROOT / name).is_file()]
    files += ROOT.glob(compiled)
    codes = [compile(f.read_bytes(), f, "exec") for f in files if f.suffix == ".py"]
    # A .pyc has a header of 16 bytes (PEP 552).
    return Size(sum(file.stat().st_size for file in files), sum(16 + len(marshal.dumps(code)) for code in codes))


def plain_mb(root: Path) -> float:
    """Return the MB of a plain installation of this tree, measured in this interpreter."""
    wanted = tomllib.loads((root / "pyproject.toml").read_text())["project"]["dependencies"]
    installed = packages_of(Path(sys.executable))
    others = sum((size_of(installed[name]) for name in needed(wanted, installed)), NOTHING)
    files = [file for file in (root / "src/plimsoll").rglob("*") if file.suffix != ".pyc"]
    return (others.shipped + sum(file.stat().st_size for file in files if file.is_file())) / 1e6


def needed(wanted: list[str], installed: dict[str, Distribution]) -> set[str]:
    """Return the names of all packages that these requirements need, directly or not."""
    found: set[str] = set()
    pending = [Requirement(text) for text in wanted]
    while pending:
        one = pending.pop()
        name = canonicalize_name(one.name)
        for extra in one.extras or {""}:
            if f"{name}[{extra}]" in found or name not in installed:
                continue
            found |= {name, f"{name}[{extra}]"}
            for text in installed[name].requires or []:
                further = Requirement(text)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    pending.append(further)
    return {name for name in found if "[" not in name}


def fresh(folder: Path) -> Path:
    """Install the run-time dependencies into an environment without pip; return its interpreter."""
    subprocess.check_call([sys.executable, "-m", "venv", "--without-pip", folder])
    python = folder / "bin" / "python"
    listed = ROOT / "requirements" / "run.txt"
    options = ["--quiet", "--only-binary", ":all:", "--require-hashes", "-r", listed]
    subprocess.check_call([sys.executable, "-m", "pip", "--python", python, "install", *options])
    return python


def packages_of(python: Path) -> dict[str, Distribution]:
    """Return the packages of an interpreter by their names."""
    program = "import json, sysconfig; p = sysconfig.get_paths(); print(json.dumps([p['purelib'], p['platlib']]))"
    paths = set(json.loads(subprocess.check_output([python, "-c", program])))
    return {canonicalize_name(one.name): one for one in distributions(path=list(paths))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="python", type=Path, help="measure this interpreter")
    parser.add_argument("--require", action="store_true", help=f"fail above {MOST_MB} MB")
    arguments = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    with tempfile.TemporaryDirectory() as folder:
        installed = packages_of(arguments.python or fresh(Path(folder) / "env"))
        sizes = {name: size_of(one) for name, one in installed.items()}
        sizes[OURS] = own_size("src/plimsoll", "src/plimsoll/_core*.so")
        sizes[LAB] = own_size("lab/src/plimsoll_lab", "target/release/plimsoll-gate")
        return report(project, installed, sizes, is_required=arguments.require)


def report(
    project: dict[str, Any], installed: dict[str, Distribution], sizes: dict[str, Size], *, is_required: bool
) -> int:
    """Print the table, and return the exit status."""
    plain = needed(project["dependencies"], installed) | {OURS}
    print(f"{'package':28} {'MB':>7} {'with bytecode':>14}")
    for name in sorted(plain, key=lambda name: -sizes[name].whole_mb):
        print(f"  {name:26} {sizes[name].shipped / 1e6:7.1f} {sizes[name].whole_mb:14.1f}")
    total = sum((sizes[name] for name in plain), NOTHING)
    print(f"{'plain':28} {total.shipped / 1e6:7.1f} {total.whole_mb:14.1f}")
    everything = plain
    for extra, wanted in project["optional-dependencies"].items():
        added = needed([w for w in wanted if not w.startswith((OURS, LAB))], installed) - plain
        added |= {LAB for w in wanted if w.startswith(LAB)}
        everything = everything | added
        size = sum((sizes[name] for name in added), NOTHING)
        if added:
            print(f"{'+ [' + extra + ']':28} {size.shipped / 1e6:7.1f} {size.whole_mb:14.1f}")
    size = sum((sizes[name] for name in everything), NOTHING)
    print(f"{'[all]':28} {size.shipped / 1e6:7.1f} {size.whole_mb:14.1f}")
    return 1 if is_required and total.shipped / 1e6 > MOST_MB else 0


if __name__ == "__main__":
    sys.exit(main())
