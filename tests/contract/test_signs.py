"""
The table of signs, the docs page and the evidence of reports say the same.

When the page differs, the failing test prints the table that it should hold.
"""

import re

from contract.tree import ROOT
from plimsoll.diagnosis.recognition.score import CONTEXT, SIGNS, Sign
from plimsoll.model.diagnosis import Evidence

PAGE = ROOT / "docs" / "concepts" / "how-a-ceiling-is-recognised.md"
MODEL = ROOT / "src" / "plimsoll" / "model" / "diagnosis.py"
START = "<!-- signs: made from plimsoll.diagnosis.recognition.score.SIGNS -->\n"
END = "<!-- end of signs -->"


def table() -> str:
    """The rows of SIGNS as Markdown."""
    head = ("sign", "behind a ceiling", "otherwise", "weight", "why so much")
    rows = [head, ("---",) * len(head), *map(_row, SIGNS)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(sign: Sign) -> tuple[str, ...]:
    bounds = f"{_nats(sign.low)} to {_nats(sign.high)}"
    return f"`{sign.name}`", sign.behind, sign.otherwise, bounds, sign.why


def _nats(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−") if value else "0"


def test_the_page_holds_the_table_of_the_code():
    """Name, meaning, bounds and reason of every sign stand on the page as they stand in the code."""
    page = PAGE.read_text(encoding="utf-8")

    assert table() == page.partition(START)[2].partition(END)[0], table()


def test_the_kinds_of_evidence_are_the_signs():
    """`Evidence.kind` names every sign, then what is told without weight, and nothing else."""
    source = MODEL.read_text(encoding="utf-8").partition(f"class {Evidence.__name__}(")[2]
    described = re.search(r'kind: str\n\s+"""(.*?)"""', source, re.DOTALL)

    assert described is not None
    assert [*(s.name for s in SIGNS), *CONTEXT] == re.findall(r"`(\w+)`", described[1])


def test_every_sign_has_bounds_around_zero_and_a_reason():
    """A sign can take, or add, or both, within bounds, and says why."""
    for sign in SIGNS:
        assert sign.low <= 0 <= sign.high, sign.name
        assert sign.low < sign.high, sign.name
        assert sign.why, sign.name
