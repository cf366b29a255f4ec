import pytest

from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.sources.reading.choose_instance import choose, describe


def known(*names: str) -> list[Instance]:
    return [Instance(identifier=name, db_class="db.r5.large") for name in names]


@pytest.mark.parametrize(
    ("measured", "described", "wanted", "chosen"),
    [
        ([], [], None, "unnamed"),
        ([None], [], None, "unnamed"),
        ([None], [], "a1", "a1"),
        (["a1", "a1", None], [], None, "a1"),
        (["a1"], ["b1", "c1"], None, "a1"),
        ([None], ["b1"], None, "b1"),
        (["a1", "b1"], [], "B1", "b1"),
        ([None], ["b1", "c1"], "C1", "c1"),
        ([None, "a1"], [], "z1", "z1"),
    ],
)
def test_the_instance_is_the_only_one_or_the_wanted_one(measured, described, wanted, chosen):
    assert choose(measured, known(*described), wanted) == chosen


@pytest.mark.parametrize(
    ("measured", "described", "wanted", "cause", "hint"),
    [
        (["a1", "b1"], [], None, "has 2 instances", "a1, b1."),
        ([None], ["a1", "b1"], None, "describes 2 instances", "a1, b1."),
        (["a1", "b1"], [], "c1", "no metric of instance 'c1'", "a1, b1."),
        (["a1"], ["c1"], "c1", "no metric of instance 'c1'", "a1."),
        ([None], ["a1", "b1"], "c1", "'c1' is not described", "a1, b1."),
        ([f"a{n}" for n in range(500)], [], None, "500 instances", "a11 and 488 more."),
    ],
)
def test_otherwise_the_names_are_listed(measured, described, wanted, cause, hint):
    """A long list is shortened."""
    with pytest.raises(UsageError, match=cause) as caught:
        choose(measured, known(*described), wanted)

    assert caught.value.hint.startswith("Choose one with --identifier: a")
    assert caught.value.hint.endswith(hint)


def test_hints_fill_what_the_description_leaves_open():
    """What `describe-db-instances` says is not overwritten by what a metric file says in passing."""
    described = [Instance(identifier="a1", engine="postgres", storage=Storage(kind="gp2"))]
    hints = [
        Instance(identifier="A1", engine="mysql", vcpu_count=8, storage=Storage(volume_count=4)),
        Instance(identifier="b1", region="eu-west-1"),
    ]
    instance, gaps = describe("a1", described, hints)

    assert instance == Instance(
        identifier="a1", engine="postgres", vcpu_count=8, storage=Storage(kind="gp2", volume_count=4)
    )
    assert gaps == []
