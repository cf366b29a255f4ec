"""From the conditions of an instance to what is stored and what is sent."""

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.evaluation import Evaluation, evaluate
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.bound import BoundSettings
from watched import INSTANCE, MINUTE, START_S

TABLES = RuleTables()


def observe(
    minute: int,
    *ceilings: str,
    rule: str = "bound",
    remembered: tuple[Standing, ...] = (),
    is_known: bool = True,
    is_near: bool = False,
    tables: RuleTables = TABLES,
) -> Evaluation:
    """Ceilings of a rule that have held for an hour; with `is_known` false one more that is unknown."""
    at_s = START_S + MINUTE * minute
    since_s = at_s - 60 * MINUTE
    found = [
        Condition(ceiling=name, at_s=at_s, nearing_since_s=since_s, bound_since_s=None if is_near else since_s)
        for name in ceilings
    ]
    if not is_known:
        found.append(Condition(at_s=at_s, is_known=False))
    return evaluate(INSTANCE, {rule: tuple(found)}, remembered, tables, at_s=at_s)


def test_each_ceiling_has_its_own_state():
    """Two ceilings that bind are two transitions with two keys."""
    found = observe(0, "a", "b")

    assert [t.state for t in found.transitions] == [WatchState.BOUND, WatchState.BOUND]
    assert len({t.key for t in found.transitions}) == 2
    assert found.announced == found.transitions
    assert all(s.is_announced for s in found.standings)


def test_what_is_no_longer_found_ends():
    """A ceiling that the rule does not name any more is ok, after its time."""
    first = observe(0, "a")
    later = observe(5, "b", remembered=first.standings)
    last = observe(20, "b", remembered=later.standings)
    last = observe(35, "b", remembered=last.standings)

    ended = [t for t in last.transitions if t.subject.ceiling == "a"]
    assert [(t.state, t.number) for t in ended] == [(WatchState.OK, 2)]
    assert ended[0] in last.announced


def test_what_is_not_found_stays_open_while_the_rule_is_unknown():
    """A rule that could not look says nothing of what it did not find."""
    standings = observe(0, "a").standings
    for minute in range(5, 300, 5):
        found = observe(minute, remembered=standings, is_known=False)
        standings = found.standings
        assert not found.transitions


def test_softer_states_are_stored_and_not_sent():
    """A rule that notifies from bound on is silent while it nears; its end is silent too."""
    near = observe(0, "a", rule="balance-empty", is_near=True)

    assert [t.state for t in near.transitions] == [WatchState.NEARING]
    assert near.announced == ()
    calm = observe(5, rule="balance-empty", remembered=near.standings)
    calm = observe(20, rule="balance-empty", remembered=calm.standings)
    calm = observe(35, rule="balance-empty", remembered=calm.standings)
    assert [t.state for t in calm.transitions] == [WatchState.OK]
    assert calm.announced == ()


def test_the_settings_choose_what_is_sent():
    """With notify = bound the rule says nothing of a ceiling that is near."""
    quiet = RuleTables(bound=BoundSettings(notify="bound"))

    assert observe(0, "a", is_near=True, tables=quiet).announced == ()
    assert len(observe(0, "a", is_near=True).announced) == 1
