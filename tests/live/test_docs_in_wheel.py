"""The wheel and the source distribution, really built, contain the pages of `plimsoll docs`."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parents[2]
PAGES = {
    f"plimsoll/docs/{path.relative_to(ROOT / 'docs').as_posix()}"
    for path in (ROOT / "docs").rglob("*")
    if path.suffix in (".md", ".json")
}


def built(kind: str, folder: Path, *options: str) -> Path:
    """The only file that maturin made."""
    program = Path(sys.executable).parent / "maturin"
    subprocess.run(
        [program, kind, *options, "--out", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=600,
    )
    (file,) = folder.iterdir()
    return file


def test_the_wheel_has_every_page(tmp_path: Path):
    """
    The program runs from the wheel's files, too: it prints a page that is not in the repository then.
    """
    wheel = built("build", tmp_path, "--release", "--locked", "--offline")
    with zipfile.ZipFile(wheel) as packed:
        assert set(packed.namelist()) >= PAGES
        packed.extractall(tmp_path / "unpacked")
    shown = subprocess.run(
        [sys.executable, "-m", "plimsoll", "docs", "bound"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path / "unpacked")},
        check=True,
        capture_output=True,
        text=True,
    )
    assert shown.stdout == (ROOT / "docs/runbooks/bound.md").read_text(encoding="utf-8")


def test_the_source_distribution_has_every_page(tmp_path: Path):
    """
    A wheel that is built from it has them as well.
    """
    with tarfile.open(built("sdist", tmp_path)) as packed:
        names = {name.partition("/src/")[2] for name in packed.getnames()}
    assert names >= PAGES
