"""SECURITY.md says what the code does: what is asked on which terms, what is kept, and a test for each promise."""

import ast
import re
import typing
from collections.abc import Iterator

import msgspec
import pytest

from contract.test_statements import ROOM, strings
from contract.tree import ROOT, SRC, functions, python_files
from live.connecting import COMMANDS, HELD_ON, REFUSED, WATCH
from plimsoll.app.options import StatementChoice
from plimsoll.model.database import Observation
from plimsoll.model.session_load import SessionLoad
from plimsoll.sources.postgres.answers import PATIENCE_S
from plimsoll.sources.postgres.statements import explain, terms

TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
NAMES = re.compile(r"\bpg_catalog\.(pg_\w+)|\b(pg_stat_statements(?:_info)?)\b")


def section(title: str) -> str:
    """What stands below a heading, up to the next one of its level or a higher one."""
    found = re.search(rf"^(##+) {re.escape(title)}\n(.*?)(?=^##? |^\1 |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"SECURITY.md has no heading '{title}'"
    return found[2]


def test_the_table_of_terms_is_made_of_the_code():
    """Commands, rights, what transactions can do, and after which time the server ends them."""
    heads = (
        "| command | transactions | needs | a statement | a lock | idle in a transaction | to connect | an answer "
        "| statements |"
    )
    rows = [
        f"| {one.commands} | {one.access} | {one.needs} | {_seconds(one.statement_s)} | {_lock(one.lock_ms)} "
        f"| {_seconds(one.idle_s)} | {one.connect_s} s | {one.answer_s} s | {', '.join(f'`{n}`' for n in one.statements)} |"
        for one in terms.ALL
    ]

    assert_section("Terms", heads, rows)


def test_the_patience_of_long_waits_is_that_of_the_code():
    """After which a wait asks whether the server answers at all."""
    assert f"after {PATIENCE_S:g} s, and every {PATIENCE_S:g} s again" in " ".join(section("Terms").split())


def test_the_table_of_the_hostile_database_is_made_of_its_test():
    """Every command that connects, on each version: whether it did its work or was refused; nothing of the owner's ran."""
    heads = f"| command | {' | '.join(f'PostgreSQL {version}' for version in HELD_ON)} |"
    rows = [
        f"| `{command}` | {' | '.join(_ends(command, version) for version in HELD_ON)} |"
        for command in (*COMMANDS, WATCH)
    ]

    assert_section("Each command in that database", heads, rows)


def test_the_table_of_what_is_asked_is_made_of_the_statements():
    """Every view, catalog, type and function whose name begins with pg_, by file; SHOW commands of poolers."""
    rows = []
    for path in sorted((SRC / ROOM).glob("*.py")):
        texts = [text for _, text in strings(ast.parse(path.read_text(encoding="utf-8")))]
        names = {name for text in texts for pair in NAMES.findall(text) for name in pair if name}
        shown = {name if not name.startswith("pg_stat_get_") else "pg_stat_get_…" for name in names}
        shown |= {text for text in texts if text.startswith("SHOW ")}
        if shown:
            rows.append(f"| `{path.stem}` | {', '.join(f'`{n}`' for n in sorted(shown))} |")

    assert_section("What is asked", "| statements | names in them |", rows)


def test_every_word_that_a_snapshot_keeps_of_a_server_is_listed():
    """Each field of an observation, and of statements of AWS, that can hold text has its place in the table, and no other is there."""
    listed = re.findall(r"`(\w+\.\w+)`", section("What is kept"))

    assert sorted(_words_kept()) == sorted(listed)


def test_numbers_of_statements_that_people_name_are_those_of_the_code():
    """The time of a statement that `explain record` runs, and how long it waits for a lock."""
    default = StatementChoice().timeout.removesuffix("s")

    text = " ".join(section("Terms").split())
    assert f"after {default} s (`--timeout`)" in text
    assert f"waits for a lock longer than {explain.LOCK_TIMEOUT_MS} ms" in text


def promises() -> list[tuple[str, str, str]]:
    """Promise, name of its test and file, as the table has them."""
    return re.findall(r"^\| (.+?) \| \[([\w ]+)\]\((tests/[\w/]+\.py)\) \|$", section("Promises"), re.MULTILINE)


@pytest.mark.parametrize(("promise", "test", "path"), promises())
def test_a_promise_has_a_test(promise: str, test: str, path: str):
    """The test that a promise names is there."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    assert f"test_{test.replace(' ', '_')}" in {function.name for function in functions(tree)}


def test_the_table_of_promises_has_no_row_of_another_form():
    """A row that the expression above does not read would be a promise without a test."""
    rows = [row for row in section("Promises").splitlines() if row.startswith("|")]

    assert len(rows) - 2 == len(promises()) >= 15


def test_files_that_are_named_are_there():
    """Every path of this repository in SECURITY.md exists."""
    named = re.findall(r"(?:\]\(|`)((?:src|docs|tests|\.github)/[\w./-]+)", TEXT)

    assert [] == [path for path in named if not (ROOT / path).exists()]


def attacks() -> Iterator[str]:
    """A row for each test marked as an attack: what it tries, what comes of it, and where it is."""
    for path, tree in python_files(ROOT):
        for node in functions(tree) if path.parts[0] == "tests" else ():
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.attack":
                    tried, outcome = (ast.literal_eval(argument) for argument in mark.args)
                    name = node.name.removeprefix("test_").replace("_", " ")
                    yield f"| {tried} | {outcome} | [{name}]({path}) |"


def test_the_table_of_attacks_is_made_of_the_tests():
    """A row for each marked test, in the order of the files: none is missing, and none has no test."""
    assert_section("Attacks that we tried", "| attack | result | test |", list(attacks()))


def assert_section(title: str, heads: str, rows: list[str]) -> None:
    """The section has just this table, and says it if not."""
    table = "\n".join([heads, "|---" * (heads.count("|") - 1) + "|", *rows])
    written = "\n".join(line for line in section(title).splitlines() if line.startswith("|"))

    assert table == written, f"write this below '{title}':\n\n{table}"


def _seconds(value: int | None) -> str:
    return "-" if value is None else f"{value} s"


def _ends(command: str, version: str) -> str:
    words = REFUSED.get((command, version))
    return "held" if words is None else f"held: refused, “{words}”"


def _lock(value_ms: int | None) -> str:
    return "-" if value_ms is None else f"{value_ms} ms"


def _words_kept() -> set[str]:
    """Fields that can hold text, each with the field that holds its noun: `statements.text`."""
    found: set[str] = set()
    waiting, seen = [(Observation, "observation"), (SessionLoad, "session_load")], set()
    while waiting:
        noun, where = waiting.pop()
        if (noun, where) in seen:
            continue
        seen.add((noun, where))
        for field, hint in typing.get_type_hints(noun).items():
            for kind in _kinds(hint):
                if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                    waiting.append((kind, field))
                elif kind is str:
                    found.add(f"{where}.{field}")
    return found


def _kinds(hint: object) -> set[object]:
    inner = typing.get_args(hint)
    return set().union(*map(_kinds, inner)) if inner else {hint}
