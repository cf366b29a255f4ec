"""The wheel and the source distribution, built and installed in every way that docs/guides/install.md names."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll.gate.place import mounts

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements/run.txt"
PROGRAMS = Path(sys.executable).parent
INCIDENT = ROOT / "examples/search-service"
GLIBC_MAX = (2, 28)
# No compiler, no Rust and no environment of this checkout; fusermount3 and the system's Python are here.
SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def call(*command: object, code: int = 0, **more: str) -> str:
    """Run a program as a user without a checkout, and return what it printed."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL", "CARGO", "PLIMSOLL"))
    }  # fmt: skip
    environment = kept | {"PATH": SYSTEM_PATH} | more
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd="/", env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, as `make wheels` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "packaging/backend.py", "--manylinux", "--sdist", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for environments; each has over 100 MB, so they do not stay."""
    folder = tmp_path_factory.mktemp("home")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def constraints(home: Path) -> Path:
    """The locked versions without hashes: a file that is installed by its path has none."""
    pins = re.findall(r"^(\w.*==.*?) *\\?$", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    file = home / "constraints.txt"
    file.write_text("\n".join(re.sub(r"\[.*?\]", "", pin) for pin in pins), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def environment(home: Path, wheel: Path) -> Path:
    """The programs of a fresh virtual environment with the locked dependencies and the wheel."""
    venv.create(home / "environment", with_pip=True)
    programs = home / "environment/bin"
    install = (programs / "python", "-m", "pip", "install", "--quiet", "--no-input")
    call(*install, "--only-binary", ":all:", "--require-hashes", "-r", LOCK)
    call(*install, "--no-index", f"{wheel}[lab]")
    return programs


def content(wheel: Path) -> dict[str, int]:
    """The files of a wheel with their modes."""
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.external_attr >> 16 for one in archive.infolist()}


def test_one_wheel_serves_every_python_and_has_all_that_runs(wheel: Path):
    """The stable interface of Python 3.11 and glibc 2.28; the daemon can be executed; a list of crates is inside."""
    files = content(wheel)
    info = wheel.name.split("-cp")[0] + ".dist-info"

    assert wheel.name.endswith("-cp311-abi3-manylinux_2_28_x86_64.whl")
    assert files["plimsoll/gate/plimsoll-gate"] & 0o777 == 0o755
    assert {
        "plimsoll/_core.abi3.so",
        "plimsoll/py.typed",
        "plimsoll/catalog/data/classes.csv",
        "plimsoll/reports/schema/report.schema.json",
        "plimsoll/reports/templates/report.html.j2",
        "plimsoll/web/templates/fleet.html.j2",
        f"{info}/sboms/plimsoll-py.cyclonedx.json",
        f"{info}/sboms/plimsoll-gate.cyclonedx.json",
        f"{info}/licenses/LICENSE",
    } <= files.keys()
    assert not [name for name in files if name.startswith(("tests/", "crates/")) or ".pyc" in name]


def test_the_pages_of_the_documentation_are_inside(wheel: Path):
    """`plimsoll docs` reads them; pictures are on the site only."""
    pages = {
        f"plimsoll/docs/{path.relative_to(ROOT / 'docs').as_posix()}"
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in (".md", ".json")
    }

    assert pages == {name for name in content(wheel) if name.startswith("plimsoll/docs/")}


def test_programs_need_no_newer_glibc_than_the_tag_says(wheel: Path, tmp_path: Path):
    """The versions of the symbols that the extension and the daemon import, as readelf prints them."""
    with zipfile.ZipFile(wheel) as archive:
        programs = [
            archive.extract(name, tmp_path) for name in ("plimsoll/_core.abi3.so", "plimsoll/gate/plimsoll-gate")
        ]
    for program in programs:
        symbols = call("readelf", "--version-info", "--wide", program)
        versions = {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}

        assert versions
        assert max(versions) <= GLIBC_MAX


def test_a_source_distribution_builds_the_same_files(built: Path, wheel: Path, tmp_path: Path):
    """Built where only the source distribution and the build tools are; with the daemon."""
    (sdist,) = built.glob("*.tar.gz")
    call(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps"),
        *("--wheel-dir", tmp_path, sdist),
        PATH=f"{PROGRAMS}:{os.environ['PATH']}",
        CARGO_TARGET_DIR=str(ROOT / "target"),
        **{name: os.environ[name] for name in ("CARGO_HOME",) if name in os.environ},
    )
    (other,) = tmp_path.glob("*.whl")

    assert content(wheel) == content(other)


@pytest.mark.parametrize("name", ["plimsoll", "plimsoll-db"])
def test_an_environment_without_rust_diagnoses(environment: Path, name: str):
    """Both names of the command are the same; exit status 1: the incident was at a limit."""
    text = call(environment / name, "diagnose", INCIDENT, code=1)

    assert "212.5 MB/s (legacy baseline)" in text
    page = (ROOT / "docs/runbooks/bound.md").read_text(encoding="utf-8")
    assert call(environment / name, "docs", "bound") == page


def test_the_lab_runs_from_the_wheel_alone(environment: Path):
    """With the daemon and the PostgreSQL of this environment; a window of seconds is too short for a verdict."""
    what = ("--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000")
    play = ("--workload", "scan", "--for", "4s")
    text = call(environment / "plimsoll", "lab", "postgres", *what, *play, code=2)

    assert "Instance EBS throughput peaked at" in text
    assert not [one for one in mounts() if "plimsoll-lab-" in str(one.place)]


def test_a_command_runs_under_a_gate_from_the_wheel_alone(environment: Path):
    """The daemon comes out of the installed package: no other is in PATH or in a checkout above it."""
    program = (
        "from plimsoll.gate.place import find_daemon; import os; f = find_daemon(); print(f, os.access(f, os.X_OK))"
    )
    found, is_program = call(environment / "python", "-c", program).split()

    assert is_program == "True"
    assert Path(found).is_relative_to(environment.parent)


def test_uv_installs_it_as_a_tool(home: Path, wheel: Path, constraints: Path):
    """`uv tool install` gives both names; `uvx` runs the one that the package has."""
    folders = {"UV_TOOL_DIR": str(home / "uv"), "UV_TOOL_BIN_DIR": str(home / "uv-bin")}
    uv, pins = PROGRAMS / "uv", ("--constraints", constraints)
    call(uv, "tool", "install", "--quiet", "--python", sys.executable, *pins, wheel, **folders)

    for name in ("plimsoll", "plimsoll-db"):
        assert call(home / "uv-bin" / name, "--version").startswith("plimsoll ")
    run = (uv, "tool", "run", "--python", sys.executable, *pins, "--from", wheel, "plimsoll-db")
    assert call(*run, "--version", **folders).startswith("plimsoll ")


def test_pipx_installs_it(home: Path, wheel: Path, constraints: Path):
    """`pipx install` gives both names."""
    folders = {"PIPX_HOME": str(home / "pipx"), "PIPX_BIN_DIR": str(home / "pipx-bin")}
    pins = f"--pip-args=--constraint={constraints}"
    call(PROGRAMS / "pipx", "install", "--python", sys.executable, pins, wheel, **folders)

    for name in ("plimsoll", "plimsoll-db"):
        assert call(home / "pipx-bin" / name, "--version").startswith("plimsoll ")
