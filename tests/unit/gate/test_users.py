"""The users of a mount are found by their working directories and open files."""

import subprocess
import sys
from pathlib import Path

import pytest

from plimsoll_lab.gate.users import User, user_names, users_of

HOLDS = "import sys; held = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


@pytest.mark.parametrize("way", ["file", "directory"])
def test_a_process_with_an_open_file_or_standing_there_is_found(tmp_path: Path, way: str):
    """Its id and name are found; a process in a neighbouring folder is not."""
    for name in ("disk", "disk2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    place = tmp_path / "disk"
    file = place / "file" if way == "file" else "/dev/null"
    others = [
        subprocess.Popen(
            [sys.executable, "-c", HOLDS, str(path)], cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for path, where in (
            (file, place if way == "directory" else "/"),
            (tmp_path / "disk2" / "file", tmp_path / "disk2"),
        )
    ]
    assert [b"open\n"] * 2 == [other.stdout.readline() for other in others]
    found = users_of(place)
    for other in others:
        other.communicate()

    assert [others[0].pid] == [user.pid for user in found]
    assert found[0].name.startswith("python")
    assert [] == users_of(place)


def test_some_are_named_and_the_rest_counted():
    """Three names are enough to find the program; without any, the text says that it is not visible."""
    users = [User(pid=number, name="postgres") for number in range(1, 6)]

    assert "a process that cannot be seen from here" == user_names([])
    assert "postgres (1)" == user_names(users[:1])
    assert "postgres (1) and postgres (2)" == user_names(users[:2])
    assert "postgres (1), postgres (2), postgres (3) and 2 more" == user_names(users)
