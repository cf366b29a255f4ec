"""
Read a pooler's settings: as configured, else the default of its version, else unknown.

Rule 1: defaults come from the catalog, with their source; rules contain none.
Rule 2: whether a version has a defect follows from the catalog's table of releases.
"""

import re
from enum import StrEnum

from msgspec import Struct

from plimsoll.catalog.load import Catalog, version_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.pooler import PoolerConfig, PoolerFix
from plimsoll.model.severity import Severity

PRODUCTS = {"pgpool": "Pgpool-II", "pgbouncer": "PgBouncer"}

_SECONDS = {"": 1.0, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?)\s*([a-z]*)")
# A judgement: no setting of a pooler has a sensible value beyond two billion (seconds, bytes, counts).
_NUMBER_MAX = 2e9
_ON = {"on", "true", "yes", "1"}


def seconds(value: float) -> str:
    """Return a time as text: `60 s`."""
    return f"{value:,g} s"


class Affected(StrEnum):
    """Whether a version has a defect."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Settings(Struct, frozen=True, kw_only=True):
    """One pooler's settings, by name."""

    config: PoolerConfig
    facts: Catalog

    @property
    def version(self) -> str | None:
        """The version, for example `4.1.3`; None if unknown."""
        found = re.search(r"\d+(?:\.\d+)+", self.config.version or "")
        return found[0] if found else None

    @property
    def product(self) -> str:
        """Name and version, for use in a sentence."""
        name = PRODUCTS[self.config.kind]
        return f"{name} {self.version}" if self.version else f"{name} of unknown version"

    def is_set(self, name: str) -> bool:
        """Return whether the configuration sets it."""
        return name in self.config.settings

    def text(self, name: str) -> str | None:
        """Return the value in effect; None if it is neither configured nor documented."""
        if name in self.config.settings:
            return self.config.settings[name].strip()
        default = self.facts.pooler_default(self.config.kind, name, self.version)
        return default.value if default else None

    def number(self, name: str) -> float | None:
        """Return a number, or a time in seconds; None if unknown or not a number."""
        found = _QUANTITY.fullmatch((self.text(name) or "").lower())
        if found is None or found[2] not in _SECONDS:
            return None
        value = float(found[1]) * _SECONDS[found[2]]
        return value if abs(value) < _NUMBER_MAX else None

    def count(self, name: str) -> int:
        """Return a whole number; 0 if unknown."""
        return int(self.number(name) or 0)

    def is_on(self, name: str) -> bool:
        """Return whether a switch is on."""
        return (self.text(name) or "").lower() in _ON

    def settings_evidence(self, *names: str) -> Evidence:
        """Return the settings as one line of evidence; values that are not configured are marked as default."""
        lines = [
            f"{name} = {self.text(name) or 'unknown'}" + ("" if self.is_set(name) else " (default)") for name in names
        ]
        return Evidence(kind="setting", text=", ".join(lines))

    def affected_by(self, defect: str) -> Affected:
        """Return whether this version has a defect that the catalog lists."""
        if self.version is None:
            return Affected.UNKNOWN
        mine = version_of(self.version)
        fixes = self.facts.pooler_fixes(self.config.kind, defect)
        if any(fix.since and mine < version_of(fix.since) for fix in fixes):
            return Affected.NO
        for fix in fixes:
            if mine[:2] == version_of(fix.branch)[:2]:
                return Affected.YES if mine < version_of(fix.fixed_in) else Affected.NO
        # A branch older than all fixed ones never got the fix; a newer one began after it.
        return Affected.YES if mine < version_of(fixes[0].branch) else Affected.NO

    def fixes(self, defect: str) -> tuple[PoolerFix, ...]:
        """Return the releases that fixed a defect, newest first."""
        return self.facts.pooler_fixes(self.config.kind, defect)[::-1]

    def fix_evidence(self, defect: str) -> Evidence:
        """Return in which releases and when a defect was fixed, with the source."""
        fixes = self.fixes(defect)
        days = sorted({fix.fixed_on for fix in fixes})
        origin = fixes[0].origin
        return Evidence(
            kind="documentation",
            text=f"fixed in {', '.join(fix.fixed_in for fix in fixes)} ({' and '.join(days)}); "
            f"source: {origin.source}, read {origin.read_on}",
        )

    def upgrade_for(self, defect: str) -> str:
        """Return the release with the fix in the same branch, else in the oldest newer branch."""
        fixes = self.fixes(defect)[::-1]
        mine = version_of(self.version or "")
        same = [f for f in fixes if mine[:2] == version_of(f.branch)[:2]]
        newer = [f for f in fixes if version_of(f.branch) > mine]
        return (same or newer or list(fixes[-1:]))[0].fixed_in if mine else fixes[-1].fixed_in

    def finding(
        self,
        code: str,
        severity: Severity,
        title: str,
        text: str,
        *,
        evidence: tuple[Evidence, ...],
        remedies: tuple[Remedy, ...],
        refuted_by: str,
    ) -> Cause:
        """Return a cause with this pooler as its subject."""
        return Cause(
            kind=CauseKind.POOLER,
            code=code,
            severity=severity,
            subject=self.config.place,
            title=title,
            text=text,
            evidence=evidence,
            remedies=remedies,
            refuted_by=refuted_by,
        )
