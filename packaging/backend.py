"""
Build the package: maturin builds the extension. Every wheel also gets the pages of `plimsoll docs`.

This is the build backend that pyproject.toml names (PEP 517), for `pip install .` and for the source distribution.
`make wheels` runs it as a program, which can also build the lab; that is a package for maturin alone:

    python packaging/backend.py --manylinux --lab dist

With --manylinux, zig links against glibc 2.28, so the wheel also runs on older systems than the one that builds it.
"""

import argparse
import base64
import hashlib
import os
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

LAB = Path("lab")
# Where plimsoll.app.documentation looks first.
PAGES_IN_WHEEL = "plimsoll/docs"
# Those of the lab, which has them in its own wheel.
PAGES_OF_LAB = (
    *("lab.md", "guides/borrow-an-instance.md", "guides/measure-io-sizes.md", "guides/play-*.md"),
    *("guides/run-real-servers.md", "guides/run-under-a-gate.md", "concepts/io-size-experiment.md"),
    *("reference/experiment-json.md", "reference/failover-json.md", "reference/gate*.md"),
    *("reference/pooled-cluster-json.md", "reference/sweep-json.md"),
)
# Debian 10, Ubuntu 20.04, RHEL 8, Amazon Linux 2023 and everything newer have it.
GLIBC = "2.28"

build_sdist = maturin.build_sdist


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """
    Build one wheel into a folder, and return its file name.

    Raises:
        SystemExit: maturin failed, and has printed why.
    """
    name = maturin.build_wheel(folder, settings, metadata)
    add_files(Path(folder) / name, pages())
    return name


def pages() -> dict[str, bytes]:
    """Return the pages of `plimsoll docs`, by their places in the wheel."""
    docs = Path("docs")
    of_lab = {path for pattern in PAGES_OF_LAB for path in docs.glob(pattern)}
    return {
        f"{PAGES_IN_WHEEL}/{path.relative_to(docs).as_posix()}": path.read_bytes()
        for path in sorted(docs.rglob("*"))
        if path.suffix in (".md", ".json") and path not in of_lab
    }


def add_files(wheel: Path, added: dict[str, bytes]) -> None:
    """
    Add files to a wheel, with their lines in RECORD.

    Equal inputs give equal wheels: the files have the time of RECORD.
    """
    with tempfile.NamedTemporaryFile(dir=wheel.parent, delete=False) as made:
        part = Path(made.name)
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            kept = old.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                for key, content in added.items():
                    new.writestr(_entry(key, entry), content)
                    kept = f"{key},sha256={_digest(content)},{len(content)}\n".encode() + kept
            new.writestr(entry, kept)
    part.chmod(0o644)
    part.replace(wheel)


def _digest(content: bytes) -> str:
    """Return the SHA-256 as RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _entry(name: str, record: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Describe a file with the time of another."""
    entry = zipfile.ZipInfo(name, record.date_time)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o100644 << 16
    return entry


def use_zig(target: str, tag: str) -> None:
    """Let maturin link with zig, for a target and a platform tag such as `manylinux_2_28`."""
    os.environ["MATURIN_PEP517_ARGS"] = f"--locked --zig --target {target} --compatibility {tag}"


def main() -> None:
    """Build a wheel, and with --sdist the source distribution, into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    machine = os.uname().machine.replace("arm64", "aarch64")
    parser.add_argument("folder", type=Path)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--manylinux", action="store_true", help=f"for glibc {GLIBC} or newer")
    kind.add_argument("--musllinux", action="store_true", help="for musl, such as Alpine Linux")
    parser.add_argument("--lab", action="store_true", help="also build the lab")
    parser.add_argument("--sdist", action="store_true", help="also build the source distributions")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # maturin and zig are programs of this environment, which need not be activated.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    if arguments.manylinux:
        use_zig(f"{machine}-unknown-linux-gnu", f"manylinux_{GLIBC.replace('.', '_')}")
    elif arguments.musllinux:
        use_zig(f"{machine}-unknown-linux-musl", "musllinux_1_2")
    built = [build_sdist(str(folder))] if arguments.sdist else []
    built.append(build_wheel(str(folder)))
    if arguments.lab:
        os.chdir(LAB)
        built += [maturin.build_sdist(str(folder))] if arguments.sdist else []
        built.append(maturin.build_wheel(str(folder)))
    for name in built:
        print(folder / name)


if __name__ == "__main__":
    main()
