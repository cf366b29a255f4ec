"""What holds of every comparison: nothing differs from itself, and sides can be exchanged."""

from hypothesis import given, settings
from hypothesis import strategies as st

import situations
from plimsoll.app.render import render
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.comparison.compare import compare
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.comparison import Comparison, LimitsOutcome
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.compare.json import render_compare_json

LAWFUL = settings(max_examples=40, deadline=None, derandomize=True)
OPPOSITE = {
    LimitsOutcome.BETTER: LimitsOutcome.WORSE,
    LimitsOutcome.WORSE: LimitsOutcome.BETTER,
    LimitsOutcome.SAME: LimitsOutcome.SAME,
    LimitsOutcome.UNKNOWN: LimitsOutcome.UNKNOWN,
}


def of(before: Snapshot, after: Snapshot) -> Comparison:
    """The comparison of two snapshots against the catalog."""
    facts = catalog()
    return compare(diagnose(before, facts), before, diagnose(after, facts), after)


@LAWFUL
@given(situations.windows())
def test_nothing_differs_from_itself(window):
    """A snapshot beside itself shows no difference in anything, and is no worse."""
    found = of(window.snapshot, window.snapshot)
    is_unknown = found.before.diagnosis.verdict is Verdict.UNKNOWN

    assert () == found.bought
    assert {0.0, None} >= {q.difference for q in found.quantities}
    assert all(q.gaps_before == q.gaps_after for q in found.quantities)
    assert all(t.before_s == t.after_s for t in found.time_at)
    assert all(c.before == c.after for c in found.ceilings)
    assert all(r.before == r.after for r in found.headroom)
    assert found.shared_hours is None
    assert (LimitsOutcome.UNKNOWN if is_unknown else LimitsOutcome.SAME) is found.outcome


@LAWFUL
@given(situations.windows(), situations.windows())
def test_sides_can_be_exchanged(first, second):
    """Exchanging the sides exchanges every number, negates every difference and turns the outcome."""
    there, back = (of(first.snapshot, second.snapshot), of(second.snapshot, first.snapshot))

    assert OPPOSITE[there.outcome] is back.outcome
    assert [(b.name, b.before, b.after) for b in there.bought] == [(b.name, b.after, b.before) for b in back.bought]
    assert pairs(there) == [(what, after, before) for what, before, after in pairs(back)]
    for one, other in zip(there.quantities, back.quantities, strict=True):
        assert one.difference is None or one.difference == -(other.difference or 0.0)


@LAWFUL
@given(situations.windows(), situations.windows(), st.sampled_from([60, 80, 120]))
def test_whatever_is_compared_can_be_said(first, second, width):
    """Every form of every comparison can be written, within its width, and equal ones are equal bytes."""
    found, again = (of(first.snapshot, second.snapshot) for _ in range(2))
    text = render(found, width=width)

    assert max(len(line) for line in text.splitlines()) <= width
    assert render(again, width=width) == text
    assert render_compare_json(again) == render_compare_json(found)
    assert render(again, "markdown") == render(found, "markdown")


def pairs(found: Comparison) -> list[tuple[object, ...]]:
    """Every pair of numbers, in order: of what it is, before, and after."""
    return [
        *(((q.subject, q.statistic), (q.before, q.gaps_before), (q.after, q.gaps_after)) for q in found.quantities),
        *(
            ((t.family, t.phase, t.former_phase, t.dimension), (t.before_s, t.level_before), (t.after_s, t.level_after))
            for t in found.time_at
        ),
        *(((c.family, c.phase, c.former_phase), c.before, c.after) for c in found.ceilings),
        *((r.family, r.before, r.after) for r in found.headroom),
    ]
