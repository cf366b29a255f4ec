"""The keeper ends its server and clears up whenever its owner goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll_lab.servers import keeper


def job(
    directory: Path,
    server: list[str],
    first: list[list[str]] | None = None,
    also_remove: tuple[Path, ...] = (),
    group: Path | None = None,
    kept_log: Path | None = None,
) -> str:
    return json.dumps(
        {
            "directory": str(directory),
            "also_remove": [str(folder) for folder in also_remove],
            "log": str(directory / "log"),
            "first": first or [],
            "server": server,
            "environment": {"PATH": os.environ["PATH"]},
            "uid": None,
            "gid": None,
            "group": None if group is None else str(group),
            "kept_log": None if kept_log is None else str(kept_log),
        }
    )


@pytest.fixture
def kept(tmp_path: Path):
    """A keeper with pipes to it, and the directory that it removes."""
    directory = tmp_path / "kept"
    directory.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-I", keeper.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process, directory
    process.communicate(timeout=60)


def begin(kept, script: str, **more) -> None:
    """Let the keeper run a server of these lines of shell."""
    process, directory = kept
    process.stdin.write(job(directory, ["sh", "-c", script], **more) + "\n")
    process.stdin.flush()


def begun(kept, ready: Path, script: str, **more) -> str:
    """The same of a server that writes to a pipe once it is ready; what it writes."""
    os.mkfifo(ready)
    begin(kept, script, **more)
    return ready.read_text()


def assert_ended(pid: int) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_server_ends_and_the_directory_goes_when_the_owner_does(kept, tmp_path: Path):
    """Closing the keeper's input looks like the end of its owner."""
    process, directory = kept
    # The server answers SIGINT by writing beside its directory, and opens a pipe when it is ready.
    ready = tmp_path / "ready"
    script = f"trap 'kill $!; echo interrupted > {tmp_path}/end; exit' INT; sleep 600 & echo $$ > {ready}; wait"
    server = int(begun(kept, ready, script))
    os.kill(server, 0)
    output, _ = process.communicate(timeout=60)

    assert 0 == process.returncode
    assert "" == output
    assert "interrupted\n" == (tmp_path / "end").read_text()
    assert not directory.exists()
    assert_ended(server)


def test_the_output_of_a_server_that_ends_by_itself_is_kept(kept):
    """The owner gets the end of the log before the directory is removed."""
    process, directory = kept
    begin(kept, "echo no space left; exit 1")
    output = process.stdout.read()
    process.wait(timeout=60)

    assert 1 == process.returncode
    assert "no space left\n" == output
    assert not directory.exists()


def test_the_whole_log_of_a_server_that_ends_by_itself_is_kept(kept, tmp_path: Path):
    """Where the owner wants it, readable by its account only; the folder is made."""
    process, directory = kept
    place = tmp_path / "logs/server.log"
    begin(kept, "seq 1 5000; echo no space left; exit 1", kept_log=place)
    output = process.stdout.read()
    process.wait(timeout=60)

    assert ["1", "no space left"] == [place.read_text().splitlines()[line] for line in (0, -1)]
    assert 0o600 == place.stat().st_mode & 0o777
    assert output.endswith("no space left\n")
    assert not directory.exists()


def test_the_log_of_a_server_that_did_not_get_ready_is_kept(kept, tmp_path: Path):
    """It runs, and its owner gives it up."""
    process, directory = kept
    place, ready = tmp_path / "server.log", tmp_path / "ready"
    script = f"echo waiting for the disk; echo $$ > {ready}; exec sleep 600"
    server = int(begun(kept, ready, script, kept_log=place))
    output, _ = process.communicate("keep\n", timeout=60)

    assert "waiting for the disk\n" == output == place.read_text()
    assert not directory.exists()
    assert_ended(server)


def test_what_a_killed_server_leaves_is_ended(kept, tmp_path: Path):
    """A child in a session of its own, which does not end with its parent."""
    process, directory = kept
    ready = tmp_path / "ready"
    left = int(begun(kept, ready, f"setsid --fork sh -c 'echo $$ > {ready}; exec sleep 600'; kill -9 $$"))
    os.kill(left, 0)
    process.wait(timeout=60)

    assert 1 == process.returncode
    assert not directory.exists()
    assert_ended(left)


def test_a_preparation_that_fails_stops_it(kept, tmp_path: Path):
    """The server is not started if a preparation failed."""
    process, directory = kept
    first = [["sh", "-c", "echo prepared"], ["sh", "-c", "echo cannot prepare; exit 3"]]
    output, _ = process.communicate(job(directory, ["touch", str(tmp_path / "started")], first) + "\n", timeout=60)

    assert "prepared\ncannot prepare\n" == output
    assert not (tmp_path / "started").exists()
    assert not directory.exists()


def test_a_keeper_joins_a_control_group_before_its_server(kept, tmp_path: Path):
    """Everything it starts is in the group from the first moment, under any account."""
    process, directory = kept
    members = tmp_path / "cgroup.procs"
    first = [["sh", "-c", f"cat {members}; exit 1"]]
    output, _ = process.communicate(job(directory, [], first, group=members) + "\n", timeout=60)

    assert str(process.pid) == output


def test_no_server_runs_outside_the_group_that_it_was_to_join(kept, tmp_path: Path):
    """The output has the system's reason; the directory is removed."""
    process, directory = kept
    members = tmp_path / "none/cgroup.procs"
    server = ["touch", str(tmp_path / "started")]
    output, _ = process.communicate(job(directory, server, group=members) + "\n", timeout=60)

    assert f"unable to join '{members}': No such file or directory\n" == output
    assert 1 == process.returncode
    assert not (tmp_path / "started").exists()
    assert not directory.exists()


@pytest.mark.parametrize(("word", "stays"), [("", False), ("end\n", True)])
def test_lent_folders_go_only_with_an_owner_that_ends_silently(kept, tmp_path: Path, word: str, stays: bool):
    """An owner that was killed cannot clear up; one that says goodbye still needs its data."""
    process, directory = kept
    data = tmp_path / "data"
    (data / "base").mkdir(parents=True)
    ready = tmp_path / "ready"
    begun(kept, ready, f"trap 'kill $!; exit' INT; sleep 600 & echo ready > {ready}; wait", also_remove=(data,))
    process.communicate(word, timeout=60)

    assert stays == data.exists()
    assert not directory.exists()
