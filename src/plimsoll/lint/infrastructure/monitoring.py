"""Monitoring that is off, without which a later diagnosis has less to go by."""

from collections.abc import Iterator

from plimsoll.lint.infrastructure.rule import RuleEntry, RuleInput, finding
from plimsoll.model.cause import Remedy
from plimsoll.model.infrastructure import Attribute, DatabaseKind, DeclaredFinding, LintRule, SourcedFact
from plimsoll.model.instance import engine_family

NO_ENHANCED = LintRule(
    code="EnhancedMonitoringOff",
    severity="note",
    summary="Enhanced Monitoring is off: only means over a minute will be known.",
)
NO_INSIGHTS = LintRule(
    code="DatabaseInsightsOff",
    severity="note",
    summary="Performance Insights, which Database Insights needs, is off: nobody will know who waited.",
)

_READ_ON = "2026-11-27"
# Source: RDS User Guide, USER_DatabaseInsights.Engines (2026-11-27).
_SMALL = ("db.t2.micro", "db.t2.small", "db.t3.micro", "db.t3.small", "db.t4g.micro", "db.t4g.small")
# Source: Aurora User Guide, USER_DatabaseInsights.Engines (2026-11-27).
_AURORA_MYSQL_LACKS = ("db.t2.", "db.t3.", "db.t4g.micro", "db.t4g.small")


def _enhanced(subject: RuleInput) -> Iterator[DeclaredFinding]:
    if subject.state.monitoring_interval_s:
        return
    yield finding(
        NO_ENHANCED,
        "Enhanced Monitoring is off, so bursts shorter than a minute will not be seen",
        text="CloudWatch has one mean a minute. A ceiling that is reached for some seconds of each "
        "minute does not show in it. Enhanced Monitoring also has the number of volumes.",
        facts=(
            SourcedFact(
                text="Enhanced Monitoring has samples every 1, 5, 10, 15, 30 or 60 seconds; they are "
                "stored in CloudWatch Logs and billed there",
                source="RDS User Guide, USER_Monitoring.OS",
                read_on=_READ_ON,
            ),
        ),
        remedies=(Remedy(text="Set the monitoring interval, for example to 10 seconds, with its role."),),
    )


def _insights(subject: RuleInput) -> Iterator[DeclaredFinding]:
    if subject.state.has_insights or not _offers_insights(subject):
        return
    yield finding(
        NO_INSIGHTS,
        "Performance Insights is off, so nobody will know which statements waited at a limit",
        text="Plimsoll reads the database load by wait and statement from its API. Database Insights "
        "needs it in both modes.",
        facts=(
            SourcedFact(
                text="the Standard mode of Database Insights keeps 7 days of it at no charge; the API "
                "of Performance Insights stays after the end of its console on 2026-07-31",
                source="RDS User Guide, USER_DatabaseInsights",
                read_on=_READ_ON,
            ),
        ),
        remedies=(Remedy(text="Turn on Performance Insights; 7 days of retention are free."),),
    )


def _offers_insights(subject: RuleInput) -> bool:
    """Return whether AWS offers Database Insights for engine and class."""
    instance = subject.instance
    engine, db_class = (instance.engine or "").lower(), instance.db_class or ""
    family = engine_family(engine)
    if family is None or family == "db2":
        return False
    if family in ("mysql", "mariadb"):
        return db_class not in _SMALL
    if engine in ("aurora", "aurora-mysql"):
        return not db_class.startswith(_AURORA_MYSQL_LACKS)
    return True


MONITORING = (
    RuleEntry(
        rule=NO_ENHANCED, kinds=tuple(DatabaseKind), needs=lambda _state: (Attribute.MONITORING,), check=_enhanced
    ),
    RuleEntry(
        rule=NO_INSIGHTS,
        kinds=tuple(DatabaseKind),
        needs=lambda _state: (Attribute.INSIGHTS, Attribute.ENGINE, Attribute.DB_CLASS),
        check=_insights,
    ),
)
"""The rules of this file."""
