"""Keys of episodes."""

from msgspec.structs import replace

from plimsoll.watch.law.subject import episode_key
from watched import SUBJECT


def test_a_key_is_the_same_for_ever():
    """The key depends on nothing but the subject and the start, so a receiver knows it after every restart."""
    assert episode_key(SUBJECT, 1_700_000_000) == "86bf5c3c5f897590"


def test_every_part_changes_the_key():
    """Another account, region, instance, rule, ceiling or start is another episode."""
    others = [replace(SUBJECT, **{name: "other"}) for name in SUBJECT.__struct_fields__]
    keys = {episode_key(subject, 0) for subject in (SUBJECT, *others)}

    assert len(keys) == 6
    assert episode_key(SUBJECT, 1) not in keys


def test_parts_cannot_run_together():
    """Letters that move from one part to the next give another key."""
    moved = replace(SUBJECT, account=SUBJECT.account + "e", region=SUBJECT.region[1:])

    assert episode_key(SUBJECT, 0) != episode_key(moved, 0)
