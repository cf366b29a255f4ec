"""The main line: read, diagnose, read who was active while a limit was reached, attach."""

from contextlib import contextmanager

import pytest
from msgspec.structs import replace

from contract.tree import ROOT
from plimsoll.app import diagnose as app
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import OpenReading, read_target
from plimsoll.diagnosis import diagnose as law
from plimsoll.model.snapshot import Gap
from session_loads import session_load

GAP = Gap(metric="Top statements", reason="access denied", remedy="Allow it.", is_failed=True)


@pytest.fixture
def diagnosed(monkeypatch):
    """What `diagnose_target` returns for an example, how often it diagnosed, and what it asked an account for."""

    def call(example, add):
        asked, counted, real = [], [], law.diagnose
        snapshot = read_target(str(ROOT / "examples" / example), InstanceOptions())

        @contextmanager
        def reading(*_, **__):
            yield OpenReading(snapshot, lambda found, chosen: (asked.append(chosen), add(found, chosen))[1])

        monkeypatch.setattr(app, "reading_of", reading)
        monkeypatch.setattr(law, "diagnose", lambda *given: (counted.append(1), real(*given))[1])
        return *app.diagnose_target("rds:orders", InstanceOptions()), len(counted), asked

    return call


def test_who_was_active_is_read_after_the_diagnosis_and_attached(diagnosed):
    """It is diagnosed once; both values are those of a snapshot that had the sessions from the start."""

    def add(found, chosen):
        return replace(found, session_load=session_load(chosen[1], chosen[2]))

    snapshot, diagnosis, count, asked = diagnosed("claims-pipeline", add)

    assert (1, 1) == (count, len(asked))
    assert diagnosis.statements is not None
    assert app.diagnose_snapshot(snapshot) == diagnosis


def test_what_could_not_be_read_is_among_the_gaps(diagnosed):
    snapshot, diagnosis, _, _ = diagnosed("claims-pipeline", lambda found, _: replace(found, gaps=(*found.gaps, GAP)))

    assert GAP in snapshot.gaps
    assert GAP.metric in {gap.name for gap in diagnosis.missing}


def test_without_a_ceiling_nothing_is_asked(diagnosed):
    """A quiet instance costs no request."""
    _, diagnosis, _, asked = diagnosed("quiet", lambda found, _: found)

    assert ([], ()) == (asked, diagnosis.intervals)
