"""The words that all receivers share."""

from hypothesis import given
from hypothesis import strategies as st

from fixtures.receivers.messages import BOUND, RESOLVED, message
from plimsoll.watch.receivers.wording import (
    headline,
    instance_of,
    one_line,
    safe_link,
    sentences,
    subject_of,
    text_of,
    timestamp,
    where,
)


@given(st.text(), st.integers(1, 40))
def test_a_line_is_printable_and_short(text, length):
    """No control, direction or surrogate character is left, and the length is kept."""
    found = one_line(text, length)

    assert found.isprintable()
    assert len(found) <= length
    assert found == found.encode("utf-8").decode("utf-8") == found.strip()


def test_what_is_cut_ends_with_an_ellipsis():
    assert ("abcd", "abc…", "a b") == (one_line("abcd", 4), one_line("abcde", 4), one_line("a\r\n\tb", 9))


@given(st.text())
def test_a_link_ends_where_it_ends(text):
    """Nothing in an address can close an attribute or a link of Slack, or begin another scheme."""
    found = safe_link(f"https://x.example/{text}")

    assert not set("<>|\"'`\\ \r\n") & set(found)
    assert "" == safe_link(f"javascript:{text}")


def test_long_lists_say_that_they_are_cut():
    """Empty sentences are left out; of too many, the number is said."""
    assert ["a", "b"] == sentences(("a", " ", "b"))
    assert [*map(str, range(9)), "… and 3 more"] == sentences(tuple(map(str, range(12))))
    assert [*map(str, range(10))] == sentences(tuple(map(str, range(10))))


def test_headlines_and_subjects():
    """The headline changes with the state; the subject is the same over an episode."""
    assert "At a limit: orders-primary (simulated data)" == headline(BOUND)
    assert "Resolved: orders-primary" == headline(message(state="ok", is_simulated=False))
    assert subject_of(BOUND) == subject_of(RESOLVED)
    assert "orders-primary: instance EBS throughput (bound)" == subject_of(BOUND)
    assert "orders-primary: bound" == subject_of(message(ceiling=""))
    assert "unnamed instance" == instance_of(message(instance="\n"))
    assert ("account 123456789012, eu-west-1", "") == (where(BOUND), where(message(account="", region="")))
    assert "2026-11-22T10:14:00Z" == timestamp(BOUND.since_s)


def test_the_whole_text_leaves_out_what_is_empty():
    """No row without a value, and no heading without a list."""
    text = text_of(message(facts=(), advice=(), link="", runbook="", ceiling=""))

    assert "What to do first" not in text
    assert "Limit:" not in text
    assert "Details:" not in text
    assert "Runbook:" not in text
