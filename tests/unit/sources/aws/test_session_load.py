"""Top statements of Performance Insights: few requests, printable texts, and a gap for what fails."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.errors import AccessDenied, UsageError
from plimsoll.model.session_load import SessionLoad, StretchKind
from plimsoll.model.snapshot import Gap
from plimsoll.sources.aws import session_load
from plimsoll.sources.aws.described import describe_one
from plimsoll.sources.aws.read import read_instance
from unit.sources.aws.cloud import HOUR_S, NOW_S, WINDOW_S, Cloud, account_of, described, error, instance

DURING, OUTSIDE = (NOW_S - HOUR_S, NOW_S - 1800), (NOW_S - 1800, NOW_S)
CHOSEN = (StretchKind.CEILING, DURING, OUTSIDE)
OLD = (StretchKind.CEILING, (NOW_S - 9 * 86_400, NOW_S - 8 * 86_400), None)
ON = {"PerformanceInsightsEnabled": "true"}
PARTS = [
    {"Dimensions": {"db.wait_event.type": "IO", "db.wait_event.name": "IO:DataFileRead"}},
    {"Dimensions": {"db.wait_event.type": "CPU", "db.wait_event.name": "CPU"}},
]


def keys(text: str = "SELECT 1"):
    """DescribeDimensionKeys with one key of every group."""

    def script(asked):
        group = asked["GroupBy"]["Group"]
        names = {
            "db.wait_event": PARTS[0]["Dimensions"],
            "db.sql_tokenized": {"db.sql_tokenized.id": "A1", "db.sql_tokenized.statement": text},
            "db.user": {"db.user.name": text},
            "db.host": {"db.host.name": text},
        }
        key = {"Dimensions": names[group], "Total": 3.0}
        if "PartitionBy" in asked:
            return {"Keys": [key | {"Partitions": [2.0, 1.0]}], "PartitionKeys": PARTS}
        return {"Keys": [key]}

    return script


def account_with(script, most=1000, **fields):
    cloud = Cloud(DescribeDBInstances=described(instance(**ON | fields)), DescribeDimensionKeys=script)
    return cloud, account_of(cloud, most=most)


def read(script, chosen=CHOSEN):
    cloud, account = account_with(script)
    found = describe_one(account, "orders-primary")
    cloud.sent.clear()
    return cloud, session_load.read_session_load(account, found, chosen)


def snapshot_of(script, *, chosen=CHOSEN, **fields):
    cloud, account = account_with(script, **fields)
    more = {"ec2_type_of": lambda _: None, "fine_s": 0, "has_statements": True}
    found, about = read_instance(account, "orders-primary", WINDOW_S, **more)
    return cloud, account, session_load.with_statements(account, about, found, chosen)


def test_two_stretches_cost_six_requests():
    """Waits, statements, users and hosts of the first; waits and statements of the second."""
    cloud, found = read(keys())
    asked = [(p["GroupBy"]["Group"], "PartitionBy" in p, p["StartTime"]) for _, p in cloud.sent]

    assert session_load.CALLS == len(asked)
    assert [
        ("db.wait_event", False, DURING[0]),
        ("db.sql_tokenized", True, DURING[0]),
        ("db.user", True, DURING[0]),
        ("db.host", True, DURING[0]),
        ("db.wait_event", False, OUTSIDE[0]),
        ("db.sql_tokenized", True, OUTSIDE[0]),
    ] == asked
    assert isinstance(found, SessionLoad)
    assert ("A1", "SELECT 1", 3.0) == (
        found.during.statements[0].id,
        found.during.statements[0].text,
        found.during.statements[0].sessions,
    )
    assert [2.0, 1.0] == [w.sessions for w in found.during.statements[0].waits]
    assert found.outside is not None
    assert OUTSIDE == (found.outside.start_s, found.outside.end_s)


def test_the_requests_are_planned_and_counted():
    """Each counts in the meter; the plan has the most that an instance can need."""
    _, account, found = snapshot_of(keys())

    assert found.session_load is not None
    assert 6 == dict(account.usage.calls)["pi:DescribeDimensionKeys"]
    sent = account.usage.call_count
    with pytest.raises(UsageError, match=f"needs {sent} requests"):
        snapshot_of(keys(), most=sent - 1)


def test_without_performance_insights_nothing_is_asked():
    """An instance that keeps no samples costs no request."""
    cloud, _, found = snapshot_of(keys(), PerformanceInsightsEnabled="false")
    assert "DescribeDimensionKeys" not in cloud.counts
    assert any("statements wait for I/O" in gap.reason for gap in found.gaps)


def test_a_missing_permission_is_a_gap_that_names_it():
    """The rest of the instance is read, and the report says what to allow."""
    _, _, found = snapshot_of(lambda _: error("AccessDeniedException"))
    (gap,) = [g for g in found.gaps if g.metric == session_load.NAME]

    assert found.session_load is None
    assert "pi:DescribeDimensionKeys" in gap.reason + gap.remedy
    assert "which statements waited" in gap.reason
    assert gap.is_failed
    assert found.series
    with pytest.raises(AccessDenied):
        read(lambda _: error("AccessDeniedException"))


def test_samples_that_have_expired_are_a_gap_with_the_retention():
    """Nothing is asked about a time that Performance Insights no longer has."""
    cloud, found = read(keys(), OLD)

    assert isinstance(found, Gap)
    assert "7 days" in found.reason
    assert not cloud.sent


HOSTILE = {
    "an escape sequence": "\x1b]0;x\x07SELECT\x1b[31m 1",
    "a direction": "SELECT \u202e1",
    "lines": "SELECT\r\n  1\t\x0b2",
    "markup": "<script>alert(1)</script> ``` | [x](javascript:y)",
    "huge": "SELECT " + "x" * 10**6,
    "half a pair": "SELECT \ud800",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_one_printable_line(name):
    """Texts come from whoever sends statements; none may reach a terminal as it came."""
    _, found = read(keys(HOSTILE[name]))

    assert isinstance(found, SessionLoad)
    for part in (found.during.statements, found.during.users, found.during.hosts):
        assert part[0].text.isprintable()
        assert len(part[0].text) <= 501


def test_a_text_ends_at_its_first_string():
    """Commands keep their literals in Performance Insights: a password must not be recorded."""
    _, found = read(keys("ALTER ROLE app PASSWORD 'secret' VALID UNTIL 'x'"))

    assert isinstance(found, SessionLoad)
    assert "ALTER ROLE app PASSWORD '…" == found.during.statements[0].text
    _, found = read(keys("DO $body$ secret $body$ WHERE a = $1"))
    assert isinstance(found, SessionLoad)
    assert "DO $body$…" == found.during.statements[0].text


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.dictionaries(st.text(max_size=9), st.text(max_size=40), max_size=3), max_size=4),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    st.text(max_size=200),
)
def test_any_answer_gives_a_load(dimensions, numbers, text):
    """Missing fields, negative numbers and lists of other lengths are no traceback."""

    def script(_asked):
        keys = [
            {"Dimensions": d | {"db.sql_tokenized.statement": text}, "Total": n, "Partitions": numbers}
            for d, n in zip(dimensions, numbers, strict=False)
        ]
        return {"Keys": keys, "PartitionKeys": [{"Dimensions": d} for d in dimensions]}

    _, found = read(script)

    assert isinstance(found, SessionLoad)
    for use in found.during.statements:
        assert use.text.isprintable()
        assert use.sessions >= 0
