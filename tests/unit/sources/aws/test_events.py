import pytest

from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.sources.aws.events import annotation_of, events_of, is_kept, kind_of
from unit.sources.aws.cloud import NOW_S, Cloud, account_of

# Categories and messages as the RDS User Guide prints them (read 2026-11).
DOCUMENTED = [
    ("availability", "DB instance restarted.", EventKind.RESTART),
    ("availability", "DB instance shutdown.", EventKind.RESTART),
    ("backup", "Backing up DB instance.", EventKind.BACKUP),
    ("backup", "Finished DB instance backup.", EventKind.BACKUP),
    (
        "backup",
        "We are unable to associate the option group name with the database instance name.",
        EventKind.OTHER,
    ),
    (
        "configuration change",
        "Applying modification to database instance class.",
        EventKind.CLASS_CHANGE,
    ),
    (
        "configuration change",
        "Finished applying modification to DB instance class.",
        EventKind.CLASS_CHANGE,
    ),
    (
        "configuration change",
        "Applying modification to allocated storage.",
        EventKind.STORAGE_CHANGE,
    ),
    (
        "configuration change",
        "Finished applying autoscaling-initiated modification to allocated storage.",
        EventKind.STORAGE_CHANGE,
    ),
    ("configuration change", "Storage configuration upgrade started.", EventKind.STORAGE_CHANGE),
    ("configuration change", "The dedicated log volume is enabled.", EventKind.STORAGE_CHANGE),
    (
        "configuration change",
        "Applying modification to convert to a Multi-AZ DB instance.",
        EventKind.CONVERSION,
    ),
    (
        "configuration change",
        "Finished applying modification to convert to a Multi-AZ DB instance.",
        EventKind.CONVERSION,
    ),
    (
        "configuration change",
        "Applying modification to convert to a standard (Single-AZ) DB instance.",
        EventKind.OTHER,
    ),
    ("configuration change", "Updated to use DBParameterGroup name.", EventKind.OTHER),
    ("configuration change", "Disabled automated backups.", EventKind.OTHER),
    ("creation", "DB instance created.", EventKind.OTHER),
    ("failover", "Multi-AZ instance failover started.", EventKind.FAILOVER),
    (
        "failover",
        "Multi-AZ failover to standby complete - DNS propagation may take a few minutes.",
        EventKind.FAILOVER,
    ),
    (
        "failover",
        (
            "Abandoning user requested failover since a failover recently occurred on the database "
            "instance."
        ),
        EventKind.OTHER,
    ),
    ("failover", "Recovered from partial failover.", EventKind.FAILOVER),
    ("failure", "Storage configuration upgrade failed. Please retry the upgrade.", EventKind.OTHER),
    (
        "failure",
        (
            "DB instance is in the cooling-off period for a previous scale storage operation. We're "
            "optimizing your DB instance. This takes at least 6 hours."
        ),
        EventKind.OTHER,
    ),
    ("maintenance", "Applying off-line patches to DB instance.", EventKind.RESTART),
    ("notification", "DB instance stopped.", EventKind.RESTART),
    ("notification", "DB instance started.", EventKind.RESTART),
    (
        "notification",
        "Unable to modify the DB instance class. It has 30 databases.",
        EventKind.OTHER,
    ),
    ("notification", "Unable to convert the DB instance to Multi-AZ: files.", EventKind.OTHER),
    (
        "notification",
        (
            "The gp2 burst balance credits for the RDS database instance are low. To resolve this "
            "issue, reduce IOPS usage or modify your storage settings to enable higher performance."
        ),
        EventKind.OTHER,
    ),
    ("recovery", "Recovery of the DB instance is complete.", EventKind.RESTART),
    ("recovery", "Recovery of standby DB instance has started.", EventKind.CONVERSION),
    ("recovery", "Multi-AZ instance recovery started.", EventKind.FAILOVER),
    ("restoration", "Restored from DB instance orders to 2026-11-19 10:14:00.", EventKind.RESTORE),
]
UNDOCUMENTED = [
    ("creation", "Restored from snapshot rds:orders-2026-11-19-03-05", EventKind.RESTORE),
    ("notification", "Storage optimization has started", EventKind.OPTIMISATION),
    ("configuration change", "Applying modification to IOPS", EventKind.STORAGE_CHANGE),
    (
        "configuration change",
        "Finished applying modification to storage type",
        EventKind.STORAGE_CHANGE,
    ),
    ("", "A message of next year", EventKind.OTHER),
]


@pytest.mark.parametrize(("category", "message", "kind"), DOCUMENTED + UNDOCUMENTED)
def test_an_event_is_told_by_its_category_and_words(category, message, kind):
    """With and without its full stop, in any case of letters: answers differ from the page."""
    assert kind_of([category], message) is kind
    assert kind_of([category.title()], message.rstrip(".").upper()) is kind


def test_the_order_of_categories_does_not_matter():
    """An event may have several."""
    message = "Multi-AZ instance failover started"

    assert kind_of(["notification", "failover"], message) is EventKind.FAILOVER


def test_an_event_becomes_an_annotation():
    """Its time to the second, its message without the full stop."""
    event = {
        "Date": "2026-11-20T10:14:00.510Z",
        "Message": "Finished applying  modification to DB instance class.",
        "EventCategories": ["configuration change"],
    }

    assert annotation_of(event) == Annotation(
        time_s=1_795_169_640,
        text="Finished applying modification to DB instance class",
        kind=EventKind.CLASS_CHANGE,
    )


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"Date": "2026-11-20T10:14:00Z"},
        {"Date": "yesterday", "Message": "x"},
        {"Date": "2026-11-20T10:14:00Z", "Message": "  "},
        {"Message": "x"},
    ],
)
def test_an_event_without_time_or_words_is_left_out(event):
    """It could not be shown."""
    assert annotation_of(event) is None


def test_an_event_with_odd_characters_can_be_printed():
    """An operator writes these by hand."""
    event = {"Date": "2026-11-20T10:14:00Z", "Message": "a\x1b[31mb" + "c" * 400}
    annotation = annotation_of(event)

    assert annotation.text.isprintable()
    assert len(annotation.text) <= 200


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
