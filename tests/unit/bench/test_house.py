"""Counts of the structure, on a package of a few files."""

from pathlib import Path

from house import ROWS, House


def house(root: Path, **files: str) -> House:
    """A house whose modules have these texts, by their dotted names with `__` for a dot."""
    for name, text in files.items():
        path = root / "src" / "plimsoll" / Path(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return House(root)


def test_arrows_are_counted_between_files_and_between_rooms(tmp_path: Path):
    """Two files of one room count between files only; other folders not at all."""
    found = house(
        tmp_path,
        cli__a__one="from plimsoll.cli.a import two\nfrom plimsoll.cli.b.three import x\n",
        cli__a__two="import plimsoll.model",
        cli__b__three="x = 1",
        model="",
    )

    assert (2, 1) == found.arrows("cli")
    assert 0 == found.circles()


def test_arrows_between_packages_are_counted_apart(tmp_path: Path):
    found = house(
        tmp_path,
        cli__one="from plimsoll.cli import two\nfrom plimsoll.model import a, b\n",
        cli__two="import plimsoll.model.a",
        model__a="",
        model__b="",
    )

    assert (3, 1) == found.outer_arrows()


def test_a_circle_of_rooms_and_a_name_of_two_classes_are_found(tmp_path: Path):
    found = house(
        tmp_path,
        a__one="from plimsoll.a import two\n\n\nclass C: ...\n",
        a__two="from plimsoll.a import one\n\n\nclass C: ...\n",
    )

    assert 1 == found.circles()
    assert 1 == found.shared_class_names()


def test_docstrings_are_neither_comment_nor_code(tmp_path: Path):
    text = '"""What."""\n\n# Why.\nx = 1\ny = 2\n\n\ndef f():\n    """Return x."""\n    return x\n'

    assert 25.0 == house(tmp_path, a=text).comments()


def test_every_row_can_be_counted_here(tmp_path: Path):
    """But for the time of help, which the other tests of help measure in their way."""
    found = house(tmp_path, a__one="x = 1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\ndependencies = []\n", encoding="utf-8")
    rows = [row(found) for name, row in ROWS.items() if "CPU" not in name]

    assert "1 with 1 lines" == rows[0]
    assert len(ROWS) - 1 == len(rows)
