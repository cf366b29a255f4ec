"""A command is started, watched and ended by its own process id."""

import os
import signal
import sys

import pytest

from plimsoll.errors import UsageError
from plimsoll.sources.host.child_command import ChildCommand
from programs import script


def test_a_command_runs_with_its_variables_and_returns_its_status():
    """Variables are added to ours; the exit status is the command's."""
    command = ChildCommand(
        ["sh", "-c", 'test "$PLIMSOLL_LAB" = yes && test -n "$PATH" && exit 7'], environment={"PLIMSOLL_LAB": "yes"}
    )
    command.start()

    assert 7 == command.wait()
    assert command.is_over()
    assert "sh" == command.name


def test_a_command_that_never_ran_is_not_over():
    """Stopping it is no error."""
    command = ChildCommand(["sh"])

    assert not command.is_over()
    assert None is command.stop()
    assert None is command.wait()


def test_a_program_is_looked_up_in_the_commands_own_path(tmp_path):
    """The command's own PATH counts, so that a wheel's programs are found."""
    program = script(tmp_path / "plimsoll-lab-program", "exit 3")
    command = ChildCommand([program.name], environment={"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    command.start()

    assert 3 == command.wait()


def test_a_program_that_is_not_there_is_an_error_before_anything_runs():
    """Nothing is recorded for a command that cannot run."""
    with pytest.raises(UsageError) as raised:
        ChildCommand(["no-such-program-anywhere", "secret"])

    assert "'no-such-program-anywhere'" in raised.value.message
    assert "secret" not in raised.value.message


def test_a_file_that_is_no_program_is_an_error(tmp_path):
    """The error says that the system cannot run the file."""
    program = tmp_path / "broken"
    program.write_bytes(b"\x7fELF not really")
    program.chmod(0o755)
    command = ChildCommand([str(program)])
    with pytest.raises(UsageError, match="unable to run"):
        command.start()


def test_a_command_that_runs_on_is_ended_gently_first():
    """SIGINT comes first, so a program can still print its summary."""
    code = (
        "import signal, sys, time\n"
        "def end(*_): print('ended'); sys.exit(5)\n"
        "signal.signal(signal.SIGINT, end)\n"
        "print('ready', flush=True)\n"
        "while True: time.sleep(0.05)\n"
    )
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as output, os.fdopen(read_end) as found:
        command = ChildCommand([sys.executable, "-c", code], output=output)
        command.start()
        output.close()

        assert "ready\n" == found.readline()
        assert 5 == command.stop()
        assert "ended\n" == found.readline()


def test_waiting_ends_after_the_given_time():
    """A command that still runs then has no status yet, and can be ended."""
    command = ChildCommand(["sleep", "600"])
    command.start()

    assert None is command.wait(0.01)
    assert not command.is_over()
    assert -signal.SIGINT == command.stop()


def test_output_goes_to_the_given_files(tmp_path):
    """Output and errors may go to two files."""
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        command = ChildCommand(["sh", "-c", "echo done; echo late >&2"], output=out, errors=err)
        command.start()

    assert 0 == command.wait()
    assert "done\n" == (tmp_path / "out").read_text()
    assert "late\n" == (tmp_path / "err").read_text()
