"""Two stories' databases as an inspection would have seen them, and what it says of them."""

import database_stories as stories
from plimsoll.causes.inspect import inspect
from plimsoll.model.cause import CauseKind, Inspection

CEILING_BYTES_PER_S = 212.5e6


def search_service() -> Inspection:
    """Story 1, held against the ceiling that its diagnosis names."""
    return inspect(
        stories.rewriting(),
        ceiling_bytes_per_s=CEILING_BYTES_PER_S,
        ceiling_name="instance EBS throughput, legacy baseline",
    )


def pooled_cluster() -> Inspection:
    """Story 4, of which no ceiling of storage is known."""
    return inspect(stories.piling_up())


INSPECTIONS = {"search-service": search_service, "pooled-cluster": pooled_cluster}


def test_after_the_remedy_the_rewrites_are_gone():
    """Statements that leave out what did not change leave no cause of that kind."""
    kinds = {c.kind for c in inspect(stories.rewriting(is_mended=True)).causes}

    assert CauseKind.TOAST not in kinds
