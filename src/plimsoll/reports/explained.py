"""Which page of the documentation explains a finding, as `plimsoll docs` names it."""

from plimsoll.model.cause import CauseKind
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES

CEILINGS = "ceilings"
"""The page with a section for each family of ceilings."""

_FAMILY_PAGES = {
    Family.CONNECTIONS: "connections",
    Family.UNKNOWN: "how-a-ceiling-is-recognised",
    Family.LOCAL_STORAGE: "other-engines",
    Family.CAPACITY: "other-engines",
}
# Of findings that are no ceiling.
_FINDING_PAGES = {
    "StorageBeyondInstance": "unreachable-purchase",
    "NoCeilingReached": "how-a-ceiling-is-recognised",
    "StorageLazyLoading": CEILINGS,
    "CPUCreditsCharged": CEILINGS,
}
# Every other cause is explained where all causes are listed.
_CAUSES = "inspect-a-database"
_CAUSE_PAGES = {
    CauseKind.TOAST: "find-rewritten-values",
    CauseKind.PLANS: "compare-plans",
    CauseKind.CONNECTIONS: "size-a-pool",
    CauseKind.POOLER: "lint-a-pooler",
}


def _pages() -> dict[str, str]:
    found = {kind.value: _CAUSE_PAGES.get(kind, _CAUSES) for kind in CauseKind}
    # `connections` is a family and a cause; the runbook covers both.
    for family, facts in FAMILIES.items():
        page = _FAMILY_PAGES.get(family, CEILINGS)
        found |= {family.value: page, facts.code: page}
    found |= {facts.exhausted_code: "balance-empty" for facts in FAMILIES.values() if facts.exhausted_code}
    return found | _FINDING_PAGES


_PAGES = _pages()


def page_of(kind: str) -> str:
    """
    Return the name of the page that explains a kind of finding; empty if none does.

    Args:
        kind: a family of ceilings (`instance_ebs_throughput`), the code of a finding
            (`EBSThroughputUnderprovisioned`), or a kind of cause (`toast`).
    """
    return _PAGES.get(kind, "")
