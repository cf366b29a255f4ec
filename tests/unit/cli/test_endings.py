"""However a command ends, its exit status is one of those that are documented."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from contract.tree import ROOT
from plimsoll.cli import endings
from plimsoll.cli.streams import OutputError, ReaderGone
from plimsoll.errors import UsageError
from plimsoll.units import number

PRESSED, QUIET = ROOT / "examples" / "claims-pipeline", ROOT / "examples" / "quiet"
COMMANDS = {
    "diagnose": ("diagnose", PRESSED, "--format", "json"),
    "compare": ("compare", QUIET, QUIET),
    "record": ("record", QUIET, "-o", "-"),
    "limits": ("limits", "db.r5.large", "--format", "json"),
    "catalog": ("catalog", "show", "db.r5.large"),
    "version": ("--version",),
    "help": ("plan", "--help"),
}
# Every command prints through the same stream: some show the rest.
SOME = ("diagnose", "record", "version")


def plimsoll(*arguments: object, streams: str = "", **how: Any) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own; `streams` is what a shell is told about them."""
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "check": False} | how
    environment = dict(os.environ) | given.pop("env", {})
    command = [sys.executable, "-m", "plimsoll", *(str(a) for a in arguments)]
    shell = ["/bin/sh", "-c", f'exec "$@" {streams}', "sh"]
    return subprocess.run(shell + command, env=environment, **given)  # noqa: PLW1510


def output_of(run: Callable[[], int], capsys) -> tuple[int, list[str]]:
    """Exit status of a command, and the lines it ends with."""
    status = endings.run_to_end(run)
    return status, capsys.readouterr().err.splitlines()


def failing(error: BaseException) -> Callable[[], int]:
    def run() -> int:
        raise error

    return run


def assert_one_sentence(text: bytes) -> None:
    lines = text.decode().splitlines()
    assert 2 == len(lines), text
    assert lines[0].startswith("error: ")
    assert lines[1].startswith("hint: ")
    assert b"Traceback" not in text


class PanicError(BaseException):
    """As a library in Rust panics: it is no Exception."""


@pytest.mark.parametrize(
    "error",
    [ZeroDivisionError("float division"), RecursionError(), AssertionError("ours"), KeyError("x"), PanicError("index")],
)
def test_a_crash_is_one_sentence_that_says_whose_mistake_it_is(capsys, error):
    """Whatever is raised, the command ends with 2, says that it is a bug, and shows no traceback."""
    status, lines = output_of(failing(error), capsys)

    assert (2, 2) == (status, len(lines))
    assert type(error).__name__ in lines[0]
    assert "This is a bug" in lines[1]


def test_a_crash_says_where_it_happened(capsys):
    """The last place in our own code is named, not that in a library below it."""

    def run() -> int:
        return len(number("no number"))  # type: ignore[arg-type]

    _, lines = output_of(run, capsys)

    assert "in units.py, line" in lines[0]


def test_a_traceback_is_shown_where_it_was_asked_for(capsys, monkeypatch):
    """PLIMSOLL_TRACEBACK=1 adds what a bug report needs."""
    monkeypatch.setenv("PLIMSOLL_TRACEBACK", "1")
    status, lines = output_of(failing(ZeroDivisionError("x")), capsys)

    assert 2 == status
    assert "Traceback (most recent call last):" in lines


def test_what_the_system_refuses_is_not_called_a_bug(capsys):
    """A full disk or too little memory is said as it is."""
    full = OSError(errno.ENOSPC, "No space left on device", "/t")
    for error, text in (
        (full, "error: the system refused '/t': no space left on device"),
        (MemoryError(), "error: there is not enough memory"),
    ):
        status, lines = output_of(failing(error), capsys)

        assert (2, text) == (status, lines[0])


def test_a_number_that_overflows_is_not_said_to_be_a_lack_of_space(capsys):
    """The system's calendar raises an OSError for the year 31 billion."""
    with pytest.raises(OSError, match="too large") as raised:
        time.localtime(10**18)
    status, lines = output_of(failing(raised.value), capsys)

    assert 2 == status
    assert "made a mistake: OSError" in lines[0]


@pytest.mark.parametrize(
    ("error", "status", "lines"),
    [
        (UsageError("no such\nplace", "Name another."), 2, ["no such place", "Name another."]),
        (OutputError("unable to write", "Use a file."), 2, ["unable to write", "Use a file."]),
        (ReaderGone("gone"), 2, []),
        (KeyboardInterrupt(), 130, ["interrupted"]),
    ],
)
def test_what_was_foreseen_has_its_own_words(capsys, error, status, lines):
    """An error of the user is cause and hint, a reader that went away is silence, Ctrl-C is 130."""
    texts = [line.partition(": ")[2] or line for line in output_of(failing(error), capsys)[1]]

    assert lines == texts
    assert status == endings.run_to_end(failing(error))


@pytest.mark.parametrize(
    ("name", "streams", "reason"),
    [
        *((name, ">/dev/full", b"no space left on device") for name in COMMANDS),
        # Nothing that was to be printed lands in a file that is opened meanwhile.
        *((name, ">&-", b"standard output: it is closed") for name in SOME),
    ],
)
def test_a_full_or_closed_standard_output_is_no_verdict(name, streams, reason):
    """Every command ends with 2 and says why."""
    result = plimsoll(*COMMANDS[name], streams=streams)

    assert 2 == result.returncode
    assert_one_sentence(result.stderr)
    assert reason in result.stderr


@pytest.mark.parametrize("name", SOME)
def test_a_reader_that_went_away_is_no_verdict(name):
    """Behind `| head` a command ends silently, and with neither 0 nor 1."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = plimsoll(*COMMANDS[name], stdout=writer)
    finally:
        os.close(writer)

    assert (2, b"") == (result.returncode, result.stderr)


@pytest.mark.parametrize(
    ("encoding", "target", "status"), [("ascii", PRESSED, 1), ("latin-1", QUIET, 0), ("utf-16", QUIET, 0)]
)
def test_an_encoding_without_our_characters_replaces_them(encoding, target, status):
    """A terminal that has no `·` gets a question mark, and the verdict."""
    result = plimsoll("diagnose", target, env={"PYTHONIOENCODING": encoding})

    assert (status, b"") == (result.returncode, result.stderr)
    assert "EBS" in result.stdout.decode(encoding)


def test_messages_that_cannot_be_said_change_no_verdict(tmp_path):
    """A closed or full standard error loses messages, and nothing else."""
    arguments = ("diagnose", PRESSED, "--html", tmp_path / "report.html")
    full_told = plimsoll(*arguments, streams="2>/dev/full")
    closed_told = plimsoll(*arguments[:2], streams="2>&-")

    assert (1, 1) == (full_told.returncode, closed_told.returncode)
    assert full_told.stdout == closed_told.stdout
    assert b"claims-pipeline" in full_told.stdout


def test_nothing_can_be_said_at_all():
    """With all three streams closed there is no verdict either."""
    result = plimsoll(*COMMANDS["diagnose"], streams="<&- >&- 2>&-")

    assert 2 == result.returncode


def test_a_file_that_cannot_be_written_is_no_verdict(tmp_path, run):
    """A link to itself, a folder, a full device: each is one sentence and 2."""
    (tmp_path / "loop").symlink_to("loop")
    for place in (tmp_path / "loop", tmp_path, "/dev/full", tmp_path / ("n" * 300)):
        for arguments in (("diagnose", QUIET, "--html", place), ("record", QUIET, "-o", place)):
            ran = run(*arguments)

            assert 2 == ran.status, arguments
            assert_one_sentence(ran.err.encode())
    assert (tmp_path / "loop").is_symlink()


@pytest.mark.parametrize("module", ["typer", "numpy", "plimsoll.cli.diagnose.run", "plimsoll.diagnosis"])
def test_ctrl_c_while_modules_are_loaded(module):
    """The first tenths of a second are imports: Ctrl-C then says one word and ends with 130."""
    script = f"""
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
        return None

sys.meta_path.insert(0, Interrupting())
sys.argv = ["plimsoll", "diagnose", {str(QUIET)!r}]
from plimsoll.cli.main import main
main()
"""
    result = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)

    assert (130, b"", b"interrupted\n") == (result.returncode, result.stdout, result.stderr)


def test_a_module_that_cannot_be_loaded_is_no_verdict():
    """A broken installation ends with 2 and a sentence, too."""
    script = """
import sys
sys.modules["msgspec"] = None
sys.argv = ["plimsoll", "diagnose", "orders.json"]
from plimsoll.cli.main import main
main()
"""
    result = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True)

    assert 2 == result.returncode
    assert_one_sentence(result.stderr)
