"""Other batches while the server does not tell which there are."""

import pytest

from plimsoll.load.pace.law.peers import GONE_S, KnownPeers

THREE = (1e6, 2e6, 3e6)


def known(*answers: tuple[float, ...] | None) -> KnownPeers:
    """Peers after answers that came every second; metrics are stale after a minute."""
    made = KnownPeers(60.0)
    for told in answers:
        made.observe(told, 1.0)
    return made


@pytest.mark.parametrize(
    ("answers", "rates"),
    [
        # Peers stay while the server does not answer: what is not known is never taken as free.
        ([THREE, None, None], THREE),
        # A batch that is alone gets all of its rate again, although the server never answers.
        ([THREE, *[None] * 60], THREE),
        ([THREE, *[None] * 61], ()),
        # After a restart the first answer shows nobody, as the others connect a moment later.
        ([THREE, None, *[()] * (int(GONE_S) - 1)], THREE),
        ([THREE, None, *[()] * int(GONE_S)], ()),
        # A server that answers now and then drops the others now and then, too.
        ([THREE, *[(), (), None] * 5], THREE),
        # A peer that is seen counts at once, and one that changes its rate is followed.
        ([(1e6,), None, (5e6, 6e6)], (5e6, 6e6)),
        ([(1e6,), (9e6,)], (9e6,)),
    ],
)
def test_peers_count_until_they_are_known_to_be_gone(answers, rates):
    assert rates == known(*answers).rates


@pytest.mark.parametrize(
    ("answers", "notes"),
    [
        ([()], []),
        ([THREE, None], ["the server has not answered for 1 s; 3 others count as before"]),
        ([(1e6,), None], ["the server has not answered for 1 s; 1 other batch counts as before"]),
        ([(), None, None], ["the server has not answered for 2 s; other batches are not seen"]),
        ([THREE, None, ()], []),
    ],
)
def test_what_is_not_known_is_said(answers, notes):
    assert notes == known(*answers).missing()
