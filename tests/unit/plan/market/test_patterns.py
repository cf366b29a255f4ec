"""What may be proposed, by patterns and words."""

import pytest

from plan_cases import claims
from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.model.plan import PlanConstraints
from plimsoll.plan.market.patterns import ProposalPatterns, patterns_of


def of(**constraints: object) -> ProposalPatterns:
    return patterns_of(claims(), PlanConstraints(**constraints), catalog())  # type: ignore[arg-type]


def test_without_patterns_everything_may_be_proposed():
    """Nobody has to list what is allowed."""
    assert of().permits_class("db.x2g.large")
    assert of().permits_kind("io2")


@pytest.mark.parametrize("pattern", ["db.m6g.*", "m6g.*", "DB.M6G.*"])
def test_a_pattern_may_leave_out_the_prefix_and_the_case(pattern: str):
    """`m6g.*` is `db.m6g.*`."""
    found = of(allow=(pattern,))

    assert found.permits_class("db.m6g.large")
    assert not found.permits_class("db.m5.large")
    assert found.permits_kind("gp3")


def test_denied_goes_before_allowed():
    """Of the allowed family one size is denied."""
    found = of(allow=("db.m6g.*",), deny=("db.m6g.large",))

    assert not found.permits_class("db.m6g.large")
    assert found.permits_class("db.m6g.xlarge")


def test_storage_types_have_patterns_of_their_own():
    """`io*` denies both provisioned types and no class."""
    found = of(deny=("io*",))

    assert not found.permits_kind("io1")
    assert not found.permits_kind("io2")
    assert found.permits_kind("gp3")
    assert found.permits_class("db.m5.large")


def test_graviton_is_a_change_of_architecture():
    """It is allowed unless it is denied."""
    assert not of().is_architecture_kept
    assert of(deny=("graviton",)).is_architecture_kept


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"keep_class": True, "deny": ("db.t3.*",)}, "keeps db.t3.xlarge, which --deny rules out"),
        ({"keep_class": True, "allow": ("db.m6g.*",)}, "no other class can be allowed"),
        ({"keep_storage": True, "deny": ("gp2",)}, "keeps gp2, which --deny rules out"),
        ({"keep_storage": True, "allow": ("gp3",)}, "no other type can be allowed"),
        ({"allow": ("gp3",), "deny": ("gp3",)}, "'gp3' is both allowed and denied"),
        ({"allow": ("db.q9.*",)}, "'db.q9.*' matches no class and no storage type"),
        ({"deny": ("smaller-memory",)}, "'smaller-memory' is denied by default"),
    ],
)
def test_contradictions_are_refused_in_one_sentence(constraints: dict[str, object], message: str):
    """An impossible pattern is refused at once, with a remedy."""
    with pytest.raises(UsageError) as refused:
        of(**constraints)

    assert message in refused.value.message
    assert refused.value.hint.endswith(".")
