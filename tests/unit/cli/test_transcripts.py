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
