"""
Build the package: maturin builds the extension. Every wheel also gets the pages of `plimsoll docs`, and Linux wheels
get the daemon of `plimsoll gate`.

This is the build backend that pyproject.toml names (PEP 517), for `pip install .`, for the source distribution and
for `make wheels`, which runs it as a program:

    python packaging/backend.py --manylinux dist

With --manylinux, zig links against glibc 2.28, so the wheel also runs on older systems than the one that builds it.
"""

import argparse
import base64
import hashlib
import json
import os
import subprocess
import sys
import sysconfig
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

DAEMON = "plimsoll-gate"
# Where plimsoll.gate.place looks first.
PLACE_IN_WHEEL = f"plimsoll/gate/{DAEMON}"
# Where plimsoll.app.documentation looks first.
PAGES_IN_WHEEL = "plimsoll/docs"
SBOM = f"/sboms/{DAEMON}.cyclonedx.json"  # below .dist-info, beside the extension's (PEP 770)
# Debian 10, Ubuntu 20.04, RHEL 8, Amazon Linux 2023 and everything newer have it.
GLIBC = "2.28"
TARGET_VARIABLE = "PLIMSOLL_BUILD_TARGET"
"""Environment: the Rust target of both programs, as cargo-zigbuild writes it; zig is used if it is set."""

build_sdist = maturin.build_sdist


def build_wheel(folder: str, settings: dict[str, Any] | None = None, metadata: str | None = None) -> str:
    """
    Build one wheel into a folder, and return its file name.

    Raises:
        subprocess.CalledProcessError: cargo or maturin failed; both have printed why.
    """
    target = os.environ.get(TARGET_VARIABLE)
    name = maturin.build_wheel(folder, settings, metadata)
    added = pages()
    if "linux" in (target or sysconfig.get_platform()):
        program = build_daemon(target)
        added |= {PLACE_IN_WHEEL: program.read_bytes(), SBOM: list_of_crates(DAEMON, target)}
    add_files(Path(folder) / name, added)
    return name


def pages() -> dict[str, bytes]:
    """Return the pages of `plimsoll docs`, by their places in the wheel."""
    docs = Path("docs")
    return {
        f"{PAGES_IN_WHEEL}/{path.relative_to(docs).as_posix()}": path.read_bytes()
        for path in sorted(docs.rglob("*"))
        if path.suffix in (".md", ".json")
    }


def build_daemon(target: str | None) -> Path:
    """Build the daemon of `plimsoll gate`, and return its program."""
    command = ["cargo", *(["zigbuild", "--target", target] if target else ["build"])]
    command += ["--release", "--locked", "--package", DAEMON]
    root = Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    # cargo-zigbuild and maturin pass other settings: in one folder, each would build again what the other built.
    root = root / "zig" if target else root
    # Standard output belongs to the caller of a build backend.
    environment = os.environ | {"CARGO_TARGET_DIR": str(root)}
    subprocess.run(command, check=True, stdout=sys.stderr, env=environment)
    # A target may end with a version of glibc, which is no part of the folder.
    folder = root / target.split(".")[0] if target else root
    return folder / "release" / DAEMON


def list_of_crates(package: str, target: str | None) -> bytes:
    """
    Return the crates that a program is linked from, as CycloneDX 1.5 with package URLs.

    maturin writes the same list for the extension only.
    """
    command = ["cargo", "tree", "--locked", "--package", package, "--edges", "normal,no-proc-macro"]
    command += ["--prefix", "none", "--no-dedupe", "--format", "{p}|{l}"]
    command += ["--target", target.split(".")[0]] if target else []
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    components = []
    for line in sorted(set(printed.splitlines())):
        crate, terms = line.split("|")
        name, version = crate.split()[:2]
        version = version.removeprefix("v")
        components.append(
            {
                "type": "library",
                "name": name,
                "version": version,
                "licenses": [{"expression": terms.replace("/", " OR ")}],
                "purl": f"pkg:cargo/{name}@{version}",
            }
        )
    whole = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": components}
    return json.dumps(whole, indent=2).encode()


def add_files(wheel: Path, added: dict[str, bytes]) -> None:
    """
    Add files to a wheel, with their lines in RECORD. Names that begin with `/` are below .dist-info.

    Equal inputs give equal wheels: the files have the time of RECORD.
    """
    with tempfile.NamedTemporaryFile(dir=wheel.parent, delete=False) as made:
        part = Path(made.name)
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            kept = old.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                for key, content in added.items():
                    name = entry.filename.removesuffix("/RECORD") + key if key[0] == "/" else key
                    mode = 0o100755 if name == PLACE_IN_WHEEL else 0o100644
                    new.writestr(_entry(name, entry, mode), content)
                    kept = f"{name},sha256={_digest(content)},{len(content)}\n".encode() + kept
            new.writestr(entry, kept)
    part.chmod(0o644)
    part.replace(wheel)


def _digest(content: bytes) -> str:
    """Return the SHA-256 as RECORD writes it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _entry(name: str, record: zipfile.ZipInfo, mode: int) -> zipfile.ZipInfo:
    """Describe a file with the time of another."""
    entry = zipfile.ZipInfo(name, record.date_time)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = mode << 16
    return entry


def use_zig(target: str, tag: str) -> None:
    """Let maturin and cargo link with zig, for a target and a platform tag such as `manylinux_2_28`."""
    os.environ[TARGET_VARIABLE] = f"{target}.{GLIBC}" if tag.startswith("manylinux") else target
    os.environ["MATURIN_PEP517_ARGS"] = f"--locked --zig --target {target} --compatibility {tag}"


def main() -> None:
    """Build a wheel, and with --sdist the source distribution, into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0].strip())
    machine = os.uname().machine.replace("arm64", "aarch64")
    parser.add_argument("folder", type=Path)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--manylinux", action="store_true", help=f"for glibc {GLIBC} or newer")
    kind.add_argument("--musllinux", action="store_true", help="for musl, such as Alpine Linux")
    parser.add_argument("--sdist", action="store_true", help="also build the source distribution")
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
    for name in [*built, build_wheel(str(folder))]:
        print(folder / name)


if __name__ == "__main__":
    main()
