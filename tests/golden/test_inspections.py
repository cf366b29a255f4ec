"""Two stories' databases as an inspection would have seen them, and what it says of them."""

import pytest

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


def test_the_search_service_spends_on_vacuum_and_on_values_sent_again():
    """Both causes of the story are named with their table, each with a share of load and ceiling."""
    found = {c.kind: c for c in search_service().causes}
    vacuum, toast = found[CauseKind.VACUUM], found[CauseKind.TOAST]

    assert "public.items" in vacuum.subject
    assert toast.subject == "public.items.body"
    assert vacuum.read_bytes_per_s == pytest.approx(5_000 * stories.BLOCK_BYTES, rel=0.1)
    assert vacuum.share_of_ceiling is not None
    assert vacuum.share_of_ceiling > 0.2
    assert toast.share_of_load is not None
    assert 0.05 < toast.share_of_load < 0.25
    assert {"critical", "warning"} >= {vacuum.severity, toast.severity}


def test_after_the_remedy_the_rewrites_are_gone():
    """Statements that leave out what did not change leave no cause of that kind."""
    kinds = {c.kind for c in inspect(stories.rewriting(is_mended=True)).causes}

    assert CauseKind.TOAST not in kinds


def test_the_pooled_cluster_is_told_of_its_pooler_and_its_connections():
    """Connections near their maximum, and a pooler that keeps them beyond their time."""
    found = pooled_cluster().causes
    kinds = {c.kind for c in found if c.severity != "note"}

    assert {CauseKind.CONNECTIONS, CauseKind.POOLER} <= kinds
    assert any("connection_life_time" in c.title + c.text for c in found)
