"""The wheels and the source distributions, built and installed in every way that docs/guides/install.md names."""

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

from plimsoll_lab.gate.place import mounts

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
    """A folder with the wheels and the source distributions, as `make wheels` builds them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "packaging/backend.py", "--manylinux", "--lab", "--sdist", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("plimsoll_db-*.whl")
    return found


@pytest.fixture(scope="module")
def lab(built: Path) -> Path:
    (found,) = built.glob("plimsoll_lab-*.whl")
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
    call(*install, "--no-index", wheel)
    return programs


@pytest.fixture(scope="module")
def with_lab(environment: Path, wheel: Path) -> Path:
    """The same with the extra, which is found beside the wheel."""
    pip = (environment / "python", "-m", "pip", "install", "--quiet", "--no-input", "--no-index")
    call(*pip, "--find-links", wheel.parent, f"{wheel}[lab]")
    return environment


def content(wheel: Path) -> dict[str, int]:
    """The files of a wheel with their modes."""
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.external_attr >> 16 for one in archive.infolist()}


def test_one_wheel_serves_every_python_and_has_all_that_runs(wheel: Path):
    """The stable interface of Python 3.11 and glibc 2.28; a list of crates is inside, and nothing of the lab."""
    files = content(wheel)
    info = wheel.name.split("-cp")[0] + ".dist-info"

    assert wheel.name.endswith("-cp311-abi3-manylinux_2_28_x86_64.whl")
    assert {
        "plimsoll/_core.abi3.so",
        "plimsoll/py.typed",
        "plimsoll/catalog/data/classes.csv",
        "plimsoll/reports/schema/report.schema.json",
        "plimsoll/reports/templates/page.html.j2",
        "plimsoll/web/templates/fleet.html.j2",
        f"{info}/sboms/plimsoll-py.cyclonedx.json",
        f"{info}/licenses/LICENSE",
    } <= files.keys()
    assert not [name for name in files if name.startswith(("tests/", "crates/")) or ".pyc" in name]
    assert [name for name in files if re.search(r"\b(?:lab|gate|sweep)\b", name.replace("_", " "))] == [
        "plimsoll/sources/postgres/statements/sweep.py"
    ]


def test_the_lab_is_a_wheel_of_its_own(lab: Path):
    """For any Python; the daemon can be executed; data and lists of crates are inside."""
    files = content(lab)
    info = lab.name.split("-py3")[0]

    assert lab.name.endswith("-py3-none-manylinux_2_28_x86_64.whl")
    assert files[f"{info}.data/scripts/plimsoll-gate"] & 0o777 == 0o755
    assert {
        "plimsoll_lab/part.py",
        "plimsoll_lab/servers/locks/kafka.csv",
        "plimsoll_lab/reports/schema/sweep.schema.json",
        f"{info}.dist-info/entry_points.txt",
        f"{info}.dist-info/sboms/plimsoll-gate.cyclonedx.json",
        f"{info}.dist-info/licenses/LICENSE",
    } <= files.keys()
    assert not [name for name in files if name.startswith(("plimsoll/", "tests/", "crates/")) or ".pyc" in name]


def test_the_pages_of_the_documentation_are_inside(wheel: Path, lab: Path):
    """`plimsoll docs` reads them, each from one of the wheels; pictures are on the site only."""
    pages = [
        path.relative_to(ROOT / "docs").as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.suffix in (".md", ".json")
    ]
    inside = [name.split("/docs/") for one in (wheel, lab) for name in content(one) if "/docs/" in name]

    assert sorted(pages) == sorted(name for _, name in inside)
    assert ["plimsoll_lab", "lab.md"] in inside
    with zipfile.ZipFile(lab) as archive:
        assert archive.read("plimsoll_lab/docs/lab.md") == (ROOT / "docs/lab.md").read_bytes()


def test_programs_need_no_newer_glibc_than_the_tag_says(wheel: Path, lab: Path, tmp_path: Path):
    """The versions of the symbols that the extension and the daemon import, as readelf prints them."""
    for one in (wheel, lab):
        with zipfile.ZipFile(one) as archive:
            (name,) = [n for n in archive.namelist() if n.endswith((".so", "/plimsoll-gate"))]
            program = archive.extract(name, tmp_path)
        symbols = call("readelf", "--version-info", "--wide", program)
        versions = {(int(a), int(b)) for a, b in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols)}

        assert versions
        assert max(versions) <= GLIBC_MAX


@pytest.mark.parametrize("name", ["plimsoll_db", "plimsoll_lab"])
def test_a_source_distribution_builds_the_same_files(built: Path, name: str, tmp_path: Path):
    """Built where only the source distribution and the build tools are."""
    (sdist,) = built.glob(f"{name}-*.tar.gz")
    (wheel,) = built.glob(f"{name}-*.whl")
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


def test_without_the_lab_there_is_no_trace_of_it(environment: Path):
    """No command and no page; who asks for one reads how to install it."""
    listed = call(environment / "plimsoll", "--help") + call(environment / "plimsoll", "docs")
    done = subprocess.run([environment / "plimsoll", "sweep"], capture_output=True, text=True, check=False)

    assert not re.search(r"^ +(?:lab|gate|sweep|gate-figures|play-\S+|sweep-json) ", listed, re.MULTILINE)
    assert 2 == done.returncode
    assert done.stderr == (
        "error: 'plimsoll sweep' needs the extra 'lab', which is not installed\n"
        "hint: Install it with: pip install 'plimsoll-db[lab]'.\n"
    )


def test_the_lab_runs_from_the_wheel_alone(with_lab: Path):
    """With the daemon and the PostgreSQL of this environment; a window of seconds is too short for a verdict."""
    what = ("--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000")
    play = ("--workload", "scan", "--for", "4s")
    text = call(with_lab / "plimsoll", "lab", "postgres", *what, *play, code=2)

    assert "window is too short" in " ".join(text.split())
    assert not [one for one in mounts() if "plimsoll-lab-" in str(one.place)]


def test_a_command_runs_under_a_gate_from_the_wheel_alone(with_lab: Path):
    """The daemon comes out of the installed package: no other is in PATH or in a checkout above it."""
    program = (
        "from plimsoll_lab.gate.place import find_daemon; import os; f = find_daemon(); print(f, os.access(f, os.X_OK))"
    )
    found, is_program = call(with_lab / "python", "-c", program).split()

    assert is_program == "True"
    assert Path(found).is_relative_to(with_lab)


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
