"""The Homebrew formula that the release workflow makes of the source distribution."""

import hashlib
import subprocess
import sys
from pathlib import Path

from contract.tree import ROOT
from programs import ran


def printed(sdist: Path) -> subprocess.CompletedProcess[str]:
    program = ROOT / "packaging/homebrew.py"
    command = [sys.executable, program, sdist, "--repository", "https://example.com/us/plimsoll/"]
    return ran(command)


def test_the_formula_names_the_file_and_its_checksum(tmp_path: Path):
    """Both commands are linked; packages are installed with the hashes of the lock."""
    sdist = tmp_path / "plimsoll_db-1.2.3.tar.gz"
    sdist.write_bytes(b"content")
    text = printed(sdist).stdout

    assert f'url "https://example.com/us/plimsoll/releases/download/v1.2.3/{sdist.name}"' in text
    assert f'sha256 "{hashlib.sha256(b"content").hexdigest()}"' in text
    assert '"--require-hashes", "-r", "requirements/run.txt"' in text
    assert 'bin.install_symlink libexec/"bin/plimsoll", libexec/"bin/plimsoll-db"' in text
    assert text.splitlines()[-1] == "end"


def test_another_file_is_refused(tmp_path: Path):
    """A wheel has no formula."""
    done = printed(tmp_path / "plimsoll_db-1.2.3-py3-none-any.whl")

    assert done.returncode == 2
    assert done.stderr.startswith("error: 'plimsoll_db-1.2.3-py3-none-any.whl' is not a source")
