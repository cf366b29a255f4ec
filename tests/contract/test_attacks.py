"""The table of attacks in SECURITY.md lists the tests that try them."""

import ast
from collections.abc import Iterator

from contract.tree import ROOT, files

HEADING = "## Attacks that we tried"


def attacks() -> Iterator[tuple[str, str, str]]:
    """What each test marked as an attack tries, what comes of it, and where the test is."""
    for path in sorted(files(".py")):
        if path.relative_to(ROOT).parts[0] != "tests":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.attack":
                    tried, outcome = (ast.literal_eval(argument) for argument in mark.args)
                    yield tried, outcome, f"{path.relative_to(ROOT)}::{node.name}"


def test_the_table_in_security_md_is_made_of_the_tests():
    """A row for each marked test, in the order of the files: none is missing, and none has no test."""
    rows = [
        f"| {tried} | {outcome} | [{test.partition('::')[2].removeprefix('test_').replace('_', ' ')}]"
        f"({test.partition('::')[0]}) |"
        for tried, outcome, test in attacks()
    ]
    table = "\n".join(["| attack | result | test |", "|---|---|---|", *rows])
    text = (ROOT / "SECURITY.md").read_text()
    section = text.partition(HEADING)[2].partition("\n## ")[0]

    assert table in section, f"write this below '{HEADING}':\n\n{table}"
