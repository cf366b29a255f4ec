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


def test_peers_stay_while_the_server_does_not_answer():
    """What is not known is never taken as free."""
    assert known(THREE, None, None).rates == THREE


def test_peers_that_were_not_seen_for_long_do_not_count():
    """A batch that is alone gets all of its rate again, although the server never answers."""
    assert known(THREE, *[None] * 60).rates == THREE
    assert () == known(THREE, *[None] * 61).rates


def test_a_peer_has_time_to_connect_again():
    """After a restart the first answer shows nobody, as the others connect a moment later."""
    seconds = int(GONE_S)

    assert known(THREE, None, *[()] * (seconds - 1)).rates == THREE
    assert () == known(THREE, None, *[()] * seconds).rates


def test_every_silence_gives_peers_their_time_again():
    """A server that answers now and then drops the others now and then, too."""
    assert known(THREE, *[(), (), None] * 5).rates == THREE


def test_a_peer_that_is_seen_counts_at_once():
    assert (5e6, 6e6) == known((1e6,), None, (5e6, 6e6)).rates


def test_a_peer_that_changes_its_rate_is_followed():
    assert (9e6,) == known((1e6,), (9e6,)).rates


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
