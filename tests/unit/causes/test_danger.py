"""The order of what was found: by severity, then by what it does to the service, then by bytes."""

import pytest

from plimsoll.causes.budget import ranked
from plimsoll.model.cause import Cause, CauseKind


def cause(code: str, severity: str = "warning", written: float | None = None) -> Cause:
    """A finding by its code."""
    return Cause(
        kind=CauseKind.WAL, code=code, severity=severity, subject="", title="it is so", written_bytes_per_s=written
    )


@pytest.mark.parametrize(
    "other",
    [
        cause("PoolSaturated"),
        cause("ServersOutliveLifeTime"),
        cause("ConnectionStorm"),
        cause("VacuumRunning", written=120e6),
        cause("BlockedSessions"),
        cause("WraparoundNear"),
        cause("AutovacuumOff"),
        cause("ZzzPoolerDefect"),
    ],
)
def test_a_setting_that_may_do_harm_never_takes_the_headline(other: Cause):
    """Autovacuum that is off for one table comes last among warnings, whatever its letter."""
    assert other == ranked([cause("AutovacuumDisabled"), other])[0]


def test_danger_goes_before_bytes_and_bytes_before_settings():
    """A server that stops, clients that are refused, clients that wait, bytes, settings."""
    codes = ["WraparoundNear", "ServerFull", "BlockedSessions", "Bytes", "AutovacuumDisabled"]
    found = [cause(code, written=9e6 if code == "Bytes" else None) for code in codes]

    assert codes == [one.code for one in ranked(found[::-1])]


def test_severity_goes_before_danger():
    """What is critical by its bytes comes before a warning of any kind."""
    grave = cause("Bytes", "critical", 9e6)

    assert grave == ranked([cause("WraparoundNear"), grave])[0]


def test_bytes_rank_what_is_alike():
    """The largest first; equal ones stay in the order of their detector, whatever their letters."""
    small, large = cause("Aaa", written=1e6), cause("Zzz", written=2e6)
    late, early = cause("Zzz"), cause("Aaa")

    assert (large, small) == ranked([small, large])
    assert (late, early) == ranked([late, early])
