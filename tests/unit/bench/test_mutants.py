"""Changes of one thing in the code at a time."""

import ast
from pathlib import Path

import pytest

import mutants


def changes(folder: Path, line: str) -> set[str]:
    """Return what one line is changed to."""
    path = folder / "changed.py"
    path.write_text(line + "\n")
    finder = mutants.Finder(path)
    finder.visit(ast.parse(finder.plain))
    return {mutant.source().rstrip("\n") for mutant in finder.found}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a < b", {"a <= b"}),
        ("a <= b < c", {"a < b < c", "a <= b <= c"}),
        ("a is not b", {"a is b"}),
        ("(a) not in (b)", {"(a) in (b)"}),
        ("a * b + c", {"a / b + c", "a * b - c"}),
        ("a ** b", {"a * b"}),
        ("a and b and c", {"a or b and c", "a and b or c"}),
        ("not (a or b)", {" (a or b)".strip(), "not (a and b)"}),
        ("-a", {"a"}),
        ("a = 3", {"a = 4"}),
        ("a = 2.0", {"a = 3.0"}),
        ("a = True", {"a = False"}),
    ],
)
def test_one_thing_is_changed_at_a_time(tmp_path: Path, line: str, expected: set[str]):
    """Each operator, boundary and number of a line gives a change of its own."""
    assert expected == {change.strip() for change in changes(tmp_path, line)}


def test_what_says_nothing_of_behaviour_is_left_alone(tmp_path: Path):
    """Annotations, texts, and assertions are not changed."""
    assert changes(tmp_path, "a: int | None") == set()
    assert changes(tmp_path, 'a = "b" + c') == set()
    assert changes(tmp_path, 'a = f"{b + 1}"') == set()
    assert changes(tmp_path, "assert a > 0") == set()


def test_a_function_returns_nothing_instead(tmp_path: Path):
    """The returned value is removed, whatever is before it on the line."""
    line = "def ä(b: int = 1) -> int: return b"

    assert changes(tmp_path, line) == {"def ä(b: int = 2) -> int: return b", "def ä(b: int = 1) -> int: return None"}


def test_every_change_is_code():
    """A change that does not parse would be noticed by any test."""
    for layer in ("limits", "causes"):
        for mutant in mutants.mutants_of(layer)[::10]:
            ast.parse(mutant.source())


def test_what_is_explained_exists():
    """A line that has changed needs a new explanation."""
    for file, part, _, why in mutants.explained():
        lines = (mutants.ROOT / file).read_text().splitlines()
        assert any(part in line for line in lines), (file, part)
        assert why.endswith(".")


def test_a_part_of_a_line_is_enough_to_explain_it():
    """The change must be the one that was explained, in that file."""
    file, part, changed, why = mutants.explained()[0]

    assert why == mutants.explanation(file, f"x = {part}", f"x = {changed}")
    assert mutants.explanation(file, part, part) is None
    assert mutants.explanation("src/plimsoll/units.py", part, changed) is None


def test_tests_of_the_same_name_run_first():
    """They are the most likely to notice; the rest of the layer follows if they pass."""
    own, others = mutants.tests_for("causes", Path("toast.py"))

    assert "test_toast.py" == Path(own[0]).name
    assert all(Path(test).name.startswith("test_toast") for test in own)
    assert not set(own) & set(others)
    assert len(others) > 10
