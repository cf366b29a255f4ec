"""
Commands of golden transcripts, run again: what cannot be is refused, and answers are as reviewed.

A new one is a line `$ plimsoll …` there, with the fact above it; --regenerate-golden writes what it says.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contract.tree import ROOT
from fixtures.offers import hours, market, offer_csv, offer_json
from plimsoll.cli.record import host
from plimsoll_lab.cli.lab import run as lab
from unit.cli.test_explain import LOG

TESTS = ROOT / "tests"
REFUSALS = sorted((TESTS / "golden" / "refusals").glob("*.txt"))
ANSWERS = sorted((TESTS / "golden" / "answers").glob("*.txt"))
# A command, and what it shows if that is not plain.
COMMAND = re.compile(r"^((?:# .+\n)*)\$ plimsoll (.+)$", re.MULTILINE)
TYPES = TESTS / "unit" / "catalog" / "describe_instance_types.json"
LINKS = {"examples": ROOT / "examples", "fixtures": TESTS / "fixtures" / "infrastructure", "types.json": TYPES}
FILES = {
    "a.csv": b"1\n",
    "bare.ini": b"[databases]\na = \n[pgbouncer]\npool_mode = session\n",
    "cut.json": b'{"a":',
    "disputed.json": offer_json([*market(), hours("db.t3.xlarge", "0.3", sku="OTHER")]),
    "empty.json": b"{}",
    "export.csv": b"timestamp,ReadIOPS\n",
    "latin.txt": b"\xff\xfe\x00",
    "nothing": b"",
    "offer.csv": offer_csv(market()),
    "offer.json": offer_json(market()),
    "once.ini": b"[pgbouncer]\npool_mode = transaction\nserver_lifetime = 0\n",
    "prose.txt": b"Error: no such plan",
    "same.json": TYPES.read_bytes().replace(b"t3.xlarge", b"t3.other").replace(b"x2m.xlarge", b"x2m.other"),
    "server.log": LOG.encode(),
    "template.yaml": b"Resources: {}",
    "watch.toml": b'[[targets]]\ntarget = "examples/quiet"\n[rules.headroom]\non = false\n',
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the calls; whoever begins to record or to run a lab fails."""
    for name, place in LINKS.items():
        (tmp_path / name).symlink_to(place)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host, "record", lambda *_, **__: pytest.fail("it recorded"))
    monkeypatch.setattr(lab, "run_lab", lambda *_, **__: pytest.fail("it ran"))
    return tmp_path


@pytest.fixture
def again(folder: Path, run) -> Callable[[Path], Iterator[tuple[str, int, str, str]]]:
    """Run the commands of a transcript: its lines, and status, output and errors of each."""

    def call(transcript: Path) -> Iterator[tuple[str, int, str, str]]:
        before = sorted(folder.iterdir())
        for told, command in COMMAND.findall(transcript.read_text(encoding="utf-8")):
            words, _, piped = command.partition(" < ")
            given = (folder / piped).read_bytes() if piped else b""
            yield f"{told}$ plimsoll {command}\n", *run(*shlex.split(words), given=given)
            assert before == sorted(folder.iterdir()), command

    return call


@pytest.mark.parametrize(
    "transcript",
    # A sweep looks for fio first, which a bare machine lacks.
    [pytest.param(p, marks=[pytest.mark.deep] if p.stem == "sweep" else []) for p in REFUSALS],
    ids=lambda path: path.stem,
)
def test_what_cannot_be_is_refused_in_two_sentences(transcript: Path, again, golden: Callable[[str, str], None]):
    """Status 2, a cause and a hint, before anything is read or written; no secret is repeated."""
    shown = ""
    for command, status, out, err in again(transcript):
        assert (2, "") == (status, out), command
        assert re.fullmatch(r"error: .+\nhint: .+\n", err), command
        assert "canary" not in err
        shown += command + err
    golden(f"refusals/{transcript.name}", shown)


@pytest.mark.parametrize("transcript", ANSWERS, ids=lambda path: path.stem)
def test_answers_are_as_reviewed(transcript: Path, again, golden: Callable[[str, str], None]):
    """Standard output alone, whole, and the exit status."""
    shown = ""
    for command, status, out, err in again(transcript):
        assert "" == err, command
        shown += f"{command}{out}[status {status}]\n\n"
    golden(f"answers/{transcript.name}", shown)


# What is not in a transcript, as the sentence is: words after a command, and what is said of them.
REFUSED = {
    "diagnose": {
        "examples/quiet --identifier nobody": "not of 'nobody'",
        "examples/quiet --instance none.json": "unable to read",
        "examples/quiet --html no-such-folder/a.html": "there is no folder",
        "examples/quiet --png examples": "it is a folder",
        "examples/quiet --events none.csv": "does not exist",
        "examples/quiet --events prose.txt": "there is no column 'start'",
        "examples/quiet --events examples": "is not a file",
        "examples/quiet --events-zone UTC": "--events-zone needs --events",
        "examples/claims-pipeline --events-zone Nowhere --events examples/own-events/local-times.csv": (
            "no time zone 'Nowhere'"
        ),
        "examples/quiet --no-such-flag": "--help",
        "examples/quiet --format xml": "--help",
        "examples/quiet --size-gib many": "--help",
        # A misspelt class would cost the limits of the class and give a verdict without them.
        "examples/quiet --class db.t3.3xlarge": "The nearest ones are db.t3.2xlarge",
        "examples/quiet --class db.r5.2xlrge": "The nearest ones are db.r5.2xlarge",
        "examples/quiet --class db.r5.3xlarge": "The nearest ones are db.r5.2xlarge, db.r5.4xlarge",
        "examples/quiet --class ''": "Write a class like db.r5.2xlarge",
        "examples/quiet --for 60s": "--for needs --dsn",
        "examples/quiet --dsn host=db1 --for soon": "--for 'soon' is not a time",
        "'rds:*' --dsn host=db1": "'rds:*' matches several instances",
        "examples/quiet --plan --format json": "the JSON report has no plan",
    },
    "plan": {
        "examples/quiet --class db.r5.2xlrge": "The nearest ones are db.r5.2xlarge",
        "examples/quiet --last 14h": "the window of 14 h is shorter than a day",
        "examples/quiet --engine sqlserver-se --license bring-your-own-license": (
            "sqlserver-se is not sold with --license bring-your-own-license\nhint: It has license-included."
        ),
    },
    "limits": {
        "db.r5.2xlrge": "The nearest ones are db.r5.2xlarge",
        "db.r5.2xlarge --engine postgres --storage gp2 --size-gib 1000 --iops 5000": (
            "IOPS cannot be provisioned on 1,000 GiB of gp2 for postgres"
        ),
        "db.r5.2xlarge --chart curve.gif": "'curve.gif' does not end in .svg, .png or .html",
        "db.r5.2xlarge --engine aurora-mysql --chart curve.svg": "no storage limit is known for this instance",
    },
    "fleet lake": {
        "--explain quiet --format csv": "--explain has no csv form",
        "--spark-master 'local[2]'": "--spark-master needs --engine spark",
        "--engine spark --processes 2": "--processes is for the local engine",
        "--changes --compare x.parquet": "--changes and --compare exclude each other",
        "--compare no-such.parquet": "there is no file 'no-such.parquet'",
        "-o fleet.html": "-o writes text, JSON, Markdown, CSV or Parquet, and 'fleet.html' is a page",
        "--html fleet.csv": "--html writes a page, and 'fleet.csv' is a CSV table",
    },
    "lab run": {
        "search-service --quick --html x.html --system examples": "there is no search service in",
        "search-service --quick --html x.html --keep a/b": "unable to create",
        "pooled-cluster --quick --html x.html --with-defect a.csv --system examples": "there is no pooled cluster in",
        "pooled-cluster --quick --html x.html --with-defect absent": "no Pgpool-II without the fix of 2020",
    },
    "prove toast": {
        "'host=127.0.0.1 port=1 dbname=orders password=canary'": "did not answer",
        "'canary is no connection string'": "not a PostgreSQL connection string",
    },
    # Rows in a file that is not called .csv are read as what the option says: the next complaint is another.
    "rehearse prose.txt t --dsn host=h": {"--row-format csv": "there is nothing to"},
    "load prose.txt t --dsn host=h": dict.fromkeys(("--row-format csv", "--format csv"), "there is nothing to"),
    "--man-pages": {"a.csv": "unable to write to 'a.csv'"},
    "record": {"host --inspect --for 1s": "--inspect needs a database"},
    "gate status": {"--socket gate.sock": "there is no gate at"},
    # Before a gate is looked for, so the message is about the order.
    "gate set": {
        "": "no change was given",
        "--grant --drain": "--grant and --drain contradict each other",
        **{
            f"--balance byte{amount}": "is not NAME=RATIO with a ratio from 0 to 1"
            for amount in ("", "=", "=2", "=-0.1", "=full", "=nan")
        },
    },
    # Before anything is mounted; decimal units would mean something else.
    "gate run": {
        **{
            f"--class db.t3.xlarge --memory '{amount}' -- true": f"--memory '{amount}' is not an amount of bytes"
            for amount in ("", "4GB", "GiB", "-1GiB", "0", "1e3", "4 Gi B", "nan", "much")
        },
        "--class db.t3.xlarge --limits none.json -- true": "--limits replaces class and storage",
        "--limits none.json -- true": "'none.json' cannot be read: no such file or directory",
        "--limits a.csv -- true": "unable to read the limits in 'a.csv'",
        "--storage gp2 --size-gib 1000 --iops 5000 -- true": "IOPS cannot be provisioned",
        "--class db.r5.2xlarge --launched 2024-01-01 --legacy -- true": "no legacy limits of db.r5.2xlarge",
        **{
            f"--class db.t3.xlarge {option} {path} -- true": reason
            for option in ("-o", "--metrics")
            for path, reason in (("examples", "it is a folder"), ("no/run", "there is no folder"))
        },
    },
}


@pytest.mark.parametrize(
    ("command", "expected"),
    [(f"{command} {words}", expected) for command, rows in REFUSED.items() for words, expected in rows.items()],
)
def test_a_wrong_word_is_one_cause_and_one_hint(command: str, expected: str, folder: Path, run):
    """Status 2, nothing on standard output, nothing left behind and no secret repeated."""
    before = sorted(folder.iterdir())
    status, out, err = run(*shlex.split(command))

    assert (2, "") == (status, out)
    assert re.fullmatch(r"(?:\d phases.+\n)?error: .+[^.]\nhint: .+\n", err)
    assert expected in err
    assert "canary" not in err
    assert before == sorted(folder.iterdir())
