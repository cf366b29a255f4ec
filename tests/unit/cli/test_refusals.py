"""Command lines that cannot be: status 2, one cause and one hint, before anything is read or written."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from contract.tree import ROOT
from plimsoll.cli.lab import run as lab
from plimsoll.cli.record import host

TRANSCRIPTS = sorted((ROOT / "tests" / "golden" / "refusals").glob("*.txt"))

FILES = {
    "a.csv": b"1\n",
    "cut.json": b'{"a":',
    "empty.json": b"{}",
    "export.csv": b"timestamp,ReadIOPS\n",
    "latin.txt": b"\xff\xfe\x00",
    "nothing": b"",
    "prose.txt": b"Error: no such plan",
    "template.yaml": b"Resources: {}",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the calls; whoever begins to record fails."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (tmp_path / "fixtures").symlink_to(ROOT / "tests" / "fixtures" / "infrastructure")
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(host, "record", lambda *_, **__: pytest.fail("it recorded"))
    monkeypatch.setattr(lab, "run_lab", lambda *_, **__: pytest.fail("it ran"))
    return tmp_path


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_cannot_be_is_refused_in_two_sentences(
    transcript: Path, folder: Path, run, golden: Callable[[str, str], None]
):
    """Each command of a transcript says what was reviewed, and no secret of its arguments."""
    before = sorted(folder.iterdir())
    shown = ""
    for command in re.findall(r"^\$ plimsoll (.+)$", transcript.read_text("utf-8"), re.MULTILINE):
        words, _, piped = command.partition(" < ")
        status, out, err = run(*shlex.split(words), given=FILES.get(piped, b""))

        assert (2, "") == (status, out), command
        assert re.fullmatch(r"error: .+\nhint: .+\n", err), command
        assert "canary" not in err
        assert before == sorted(folder.iterdir())
        shown += f"$ plimsoll {command}\n{err}"
    golden(f"refusals/{transcript.name}", shown)
