"""
Whatever is put in, the program ends with a documented exit status and says what it should.

Hundreds of damaged exports, numbers at the edge of what a float can hold, and texts that are no
Unicode, through the entry point of the program: not an exception counts, but what a caller sees.
"""

import contextlib
import io
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fuzz import corpus, mutations
from plimsoll.cli.main import main

# docs/reference/exit-status.md; 130 is Ctrl-C, which nothing here sends.
STATUSES = {0, 1, 2}
FORMS = ("text", "json", "markdown")
FLAGS = ("--class", "db.r5.2xlarge", "--engine", "postgres", "--storage", "gp2", "--size-gib", "1000")
_TRACE = re.compile(r"Traceback|^  File \"|This is a bug", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """What a caller sees of one run."""

    status: int
    out: str
    err: str


def ran(*arguments: object) -> Ended:
    """The program from its arguments to its exit status, in this process."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    sys.argv = ["plimsoll", *(str(a) for a in arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        return Ended(int(ended.code or 0), out.getvalue(), err.getvalue())
    finally:
        sys.argv = before
    raise AssertionError("the entry point ends by an exit status")


def complaint(ended: Ended, form: str) -> str:
    """What is wrong with how a run ended; empty if nothing is."""
    if ended.status not in STATUSES:
        return f"status {ended.status}"
    if _TRACE.search(ended.out + ended.err):
        return ended.err[:2000]
    has_error = ended.err.startswith("error: ") or "\nerror: " in ended.err
    if ended.status != 2 and (has_error or not ended.out.strip()):
        return f"status {ended.status} with {ended.err!r} and {len(ended.out)} characters of report"
    if ended.status == 2 and not has_error and not ended.out.strip():
        return "status 2 without a word"
    if has_error and not re.search(r"^error: .+\nhint: .+\.\n?\Z", ended.err, re.MULTILINE):
        return f"not one cause and one hint: {ended.err!r}"
    if form == "json" and not has_error:
        json.loads(ended.out)
    return ""


ODD_NUMBERS = (5e-324, 1e-310, 2.2250738585072014e-308, 0.0, 1e16, 1.7976931348623157e308, 1e-9)
ODD_TEXTS = ("\ud800x", "\udfff", "", "\x00", "a" * 100_000, "\u202egpj", "<b>&amp;", "0", "-1", "NaN")


def with_numbers(number: float, samples: slice) -> bytes:
    day = corpus.made(60)
    for values in day.values.values():
        values[samples] = number
    return corpus.metric_data(day)


def odd_exports() -> dict[str, dict[str, bytes]]:
    """Folders of files, by name."""
    sound = corpus.metric_data(corpus.made(60))
    made: dict[str, dict[str, bytes]] = {}
    for number in ODD_NUMBERS:
        for which, samples in (("all", slice(None)), ("some", slice(10, 40))):
            made[f"{which} {number}"] = {"m.json": with_numbers(number, samples), "i.json": corpus.described()}
    fields = ("DBInstanceIdentifier", "DBInstanceClass", "Engine", "EngineVersion", "StorageType")
    fields += ("AvailabilityZone", "InstanceCreateTime", "AllocatedStorage", "MultiAZ", "Iops")
    for text in ODD_TEXTS:
        for field in fields:
            made[f"{field} {text[:9]!r}"] = {"m.json": sound, "i.json": corpus.described(**{field: text})}
        label = corpus.metric_data(corpus.made(60), label=f"{text} ReadIOPS")
        made[f"label {text[:9]!r}"] = {"m.json": label, "i.json": corpus.described()}
        bare = json.dumps({"DBInstances": [text]}).encode()
        made[f"instance {text[:9]!r}"] = {"m.json": sound, "i.json": bare}
        made[f"instance alone {text[:9]!r}"] = {"i.json": bare}
    return made


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Path]]:
    """At least five hundred targets that are damaged or odd."""
    folder = tmp_path_factory.mktemp("targets")
    # Other damage than test_mutants.py has.
    seed = mutations.SEED + 1
    mutants = mutations.write_mutants(folder / "mutants", seed, with_large=False)
    found = [(mutant.name, mutant.path) for mutant in mutants]
    for index, (name, files) in enumerate(odd_exports().items()):
        found.append((name, corpus.write(folder / f"odd-{index}", files)))
    return found


def test_every_input_ends_with_a_documented_status(targets):
    """No traceback and no bug; 0 and 1 with a report, 2 with one sentence or a report that cannot tell."""
    wrong = []
    for index, (name, target) in enumerate(targets):
        form = FORMS[index % len(FORMS)]
        flags = FLAGS if index % 2 else ()
        ended = ran("diagnose", target, "--format", form, *flags)
        if why := complaint(ended, form):
            wrong.append(f"{name} as {form}: {why}")

    assert len(targets) >= 500
    assert not wrong, "\n\n".join(wrong)


def test_a_run_that_crashes_is_noticed(monkeypatch, tmp_path):
    """What this test looks for, it sees: a crash in the middle of a diagnosis."""
    from plimsoll.cli.diagnose import run as diagnose

    def crash(_snapshot: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(diagnose, "diagnose_target", crash)
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(60)))
    ended = ran("diagnose", tmp_path / "m.json")

    assert 2 == ended.status
    assert "This is a bug" in complaint(ended, "text")
