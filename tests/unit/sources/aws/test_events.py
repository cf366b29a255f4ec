import pytest

from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.sources.aws.events import annotation_of, events_of, is_kept, kind_of
from unit.sources.aws.cloud import NOW_S, Cloud, account_of

# Categories and messages as the RDS User Guide prints them (read 2026-11).
DOCUMENTED = {
    EventKind.RESTART: [
        ("availability", "DB instance restarted."),
        ("availability", "DB instance shutdown."),
        ("maintenance", "Applying off-line patches to DB instance."),
        ("notification", "DB instance stopped."),
        ("notification", "DB instance started."),
        ("recovery", "Recovery of the DB instance is complete."),
    ],
    EventKind.BACKUP: [("backup", "Backing up DB instance."), ("backup", "Finished DB instance backup.")],
    EventKind.OTHER: [
        ("backup", "We are unable to associate the option group name with the database instance name."),
        ("configuration change", "Applying modification to convert to a standard (Single-AZ) DB instance."),
        ("configuration change", "Updated to use DBParameterGroup name."),
        ("configuration change", "Disabled automated backups."),
        ("creation", "DB instance created."),
        ("failover", "Abandoning user requested failover since a failover recently occurred on the database instance."),
        ("failure", "Storage configuration upgrade failed. Please retry the upgrade."),
        (
            "failure",
            "DB instance is in the cooling-off period for a previous scale storage operation. We're optimizing your DB instance. This takes at least 6 hours.",
        ),
        ("notification", "Unable to modify the DB instance class. It has 30 databases."),
        ("notification", "Unable to convert the DB instance to Multi-AZ: files."),
        (
            "notification",
            "The gp2 burst balance credits for the RDS database instance are low. To resolve this issue, reduce IOPS usage or modify your storage settings to enable higher performance.",
        ),
    ],
    EventKind.CLASS_CHANGE: [
        ("configuration change", "Applying modification to database instance class."),
        ("configuration change", "Finished applying modification to DB instance class."),
    ],
    EventKind.STORAGE_CHANGE: [
        ("configuration change", "Applying modification to allocated storage."),
        ("configuration change", "Finished applying autoscaling-initiated modification to allocated storage."),
        ("configuration change", "Storage configuration upgrade started."),
        ("configuration change", "The dedicated log volume is enabled."),
    ],
    EventKind.CONVERSION: [
        ("configuration change", "Applying modification to convert to a Multi-AZ DB instance."),
        ("configuration change", "Finished applying modification to convert to a Multi-AZ DB instance."),
        ("recovery", "Recovery of standby DB instance has started."),
    ],
    EventKind.FAILOVER: [
        ("failover", "Multi-AZ instance failover started."),
        ("failover", "Multi-AZ failover to standby complete - DNS propagation may take a few minutes."),
        ("failover", "Recovered from partial failover."),
        ("recovery", "Multi-AZ instance recovery started."),
    ],
    EventKind.RESTORE: [("restoration", "Restored from DB instance orders to 2026-11-19 10:14:00.")],
}
UNDOCUMENTED = {
    EventKind.RESTORE: [("creation", "Restored from snapshot rds:orders-2026-11-19-03-05")],
    EventKind.OPTIMISATION: [("notification", "Storage optimization has started")],
    EventKind.STORAGE_CHANGE: [
        ("configuration change", "Applying modification to IOPS"),
        ("configuration change", "Finished applying modification to storage type"),
    ],
    EventKind.OTHER: [("", "A message of next year")],
}


@pytest.mark.parametrize(
    ("category", "message", "kind"),
    [(*row, kind) for t in (DOCUMENTED, UNDOCUMENTED) for kind, rows in t.items() for row in rows],
)
def test_an_event_is_told_by_its_category_and_words(category, message, kind):
    """With and without its full stop, in any case of letters: answers differ from the page."""
    assert kind_of([category], message) is kind
    assert kind_of([category.title()], message.rstrip(".").upper()) is kind
    # An event may have several categories.
    assert kind_of(["notification", "failover"], "Multi-AZ instance failover started") is EventKind.FAILOVER


TIME = "2026-11-20T10:14:00.510Z"


CHANGE = "Finished applying modification to DB instance class"
CLASS = {"Message": CHANGE.replace(" ", "  ") + ".", "EventCategories": ["configuration change"]}


@pytest.mark.parametrize(
    ("event", "text", "kind"),
    [
        ({"Date": TIME} | CLASS, CHANGE, EventKind.CLASS_CHANGE),
        ({"Date": TIME, "Message": "a\x1b[31mb" + "c" * 400}, *("a?[31mb" + "c" * 192 + "…", EventKind.OTHER)),
        ({}, None, None),
        ({"Date": TIME}, None, None),
        ({"Date": "yesterday", "Message": "x"}, None, None),
        ({"Date": TIME, "Message": "  "}, None, None),
        ({"Message": "x"}, None, None),
    ],
)
def test_an_event_becomes_an_annotation(event, text, kind):
    """
    Its time to the second, its message without the full stop and printable, since an operator writes
    it by hand; without time or words it could not be shown.
    """
    expected = text and Annotation(time_s=1_795_169_640, text=text, kind=kind)

    assert annotation_of(event) == expected


def test_events_of_fourteen_days_are_asked_for_page_by_page():
    """Counted back by RDS itself; in order of time whatever the order of the pages."""
    days = [{"Date": f"2026-11-{d:02d}T10:00:00Z", "Message": f"m{d}"} for d in (18, 17)]

    def script(parameters):
        at = int(parameters.get("Marker", 0))
        return {"Events": days[at : at + 1]} | ({"Marker": "1"} if at == 0 else {})

    cloud = Cloud(DescribeEvents=script)
    found = events_of(account_of(cloud), "orders-primary")

    assert ["m17", "m18"] == [a.text for a in found]
    assert cloud.sent[0][1] | {"Version": ""} == {
        "Action": "DescribeEvents",
        "Version": "",
        "SourceIdentifier": "orders-primary",
        "SourceType": "db-instance",
        "Duration": "20160",
        "MaxRecords": "100",
    }


def test_windows_older_than_fourteen_days_have_no_events():
    """RDS forgets them."""
    assert is_kept((NOW_S - 30 * 86_400, NOW_S - 13 * 86_400), NOW_S)
    assert not is_kept((NOW_S - 30 * 86_400, NOW_S - 14 * 86_400), NOW_S)
