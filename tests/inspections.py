"""
Inspections made by hand, so that every renderer has something full, quiet and blind to show.

The figures follow the search service of 2021 and the pooled cluster of 2021 (see examples/), filled up
with plausible ones; nothing here was computed or measured.
"""

from plimsoll.model.cause import Cause, CauseKind, Inspection, Remedy
from plimsoll.model.diagnosis import Evidence, Missing

START_S = 1_615_201_200.0  # 2021-03-08 11:00, UTC
CEILING_BYTES_PER_S = 287.5e6
CEILING = "instance EBS throughput, baseline"
UPDATE = """
UPDATE public.documents SET status = $1,
  body = CASE WHEN body IS DISTINCT FROM $2 THEN $2 ELSE body END
WHERE id = $3;
"""


def cause(**changed) -> Cause:
    """Values sent again unchanged: the cause behind half of the search service's slow hours."""
    values = {
        "kind": CauseKind.TOAST,
        "code": "ToastValuesRewritten",
        "severity": "critical",
        "subject": "public.documents.body",
        "title": "updates of public.documents.body write unchanged values again: 96.4 MB/s",
        "text": "values of about 10 KiB are cut into 5 chunks, all of which are written anew.",
        "written_bytes_per_s": 96.4e6,
        "is_estimated": True,
        "share_of_load": 0.452,
        "share_of_ceiling": 0.335,
        "evidence": (
            Evidence(
                kind="chunks",
                text="72,000 updates left 360,000 dead rows in pg_toast.pg_toast_16384: 1 + 5 per update",
                value=6.0,
                reference=1.0,
            ),
        ),
        "remedies": (
            Remedy(
                text="let the statement keep the stored value where the new one is equal",
                commands=(UPDATE, "SELECT 1;"),
                expected="1 dead row per update instead of 6",
            ),
            Remedy(
                text="send only attributes that changed",
                commands=("config.active_record.partial_updates = true",),
                expected="1 dead row per update instead of 6",
            ),
        ),
        "refuted_by": "a sample by logical decoding in which the values sent differ from those stored",
    }
    return Cause(**{**values, **changed})


def vacuum() -> Cause:
    """The vacuum of the TOAST relation."""
    return cause(
        kind=CauseKind.VACUUM,
        code="VacuumRunning",
        severity="warning",
        subject="pg_toast.pg_toast_16384",
        title="autovacuum of the values of public.documents reads and writes 41 MB/s",
        text="",
        read_bytes_per_s=33e6,
        written_bytes_per_s=8e6,
        is_estimated=False,
        share_of_load=0.192,
        share_of_ceiling=0.1426,
        evidence=(),
        remedies=(
            Remedy(
                text="Slow it down",
                commands=("ALTER TABLE public.documents SET (toast.autovacuum_vacuum_cost_limit = 400);",),
                expected="20 MB/s; it then takes 3 h.",
            ),
        ),
        refuted_by="",
    )


def inspection(**changed) -> Inspection:
    """The search service while it is slow."""
    values = {
        "place": "db1:5432/search",
        "version": "13.4",
        "role": "plimsoll",
        "is_standby": False,
        "start_s": START_S,
        "end_s": START_S + 60,
        "load_read_bytes_per_s": 120e6,
        "load_written_bytes_per_s": 93e6,
        "ceiling_bytes_per_s": CEILING_BYTES_PER_S,
        "ceiling_name": CEILING,
        "causes": (cause(), vacuum()),
        "missing": (
            Missing(
                name="statements",
                hides="which statements are responsible",
                remedy="GRANT pg_read_all_stats TO plimsoll;",
            ),
        ),
        "query_count": 164,
        "received_bytes": 182_000,
        "asked_s": 0.412,
        "notes": ("causes may count the same bytes",),
        "glance_count": 58,
    }
    return Inspection(**{**values, **changed})


def pooled() -> Inspection:
    """The pooled cluster: no bytes, and an outage in the making."""
    return inspection(
        place="127.0.0.1:5433/orders",
        version="15.18",
        load_read_bytes_per_s=None,
        load_written_bytes_per_s=None,
        ceiling_bytes_per_s=None,
        ceiling_name="",
        causes=(
            cause(
                kind=CauseKind.CONNECTIONS,
                code="ConnectionsNearMax",
                subject="",
                title="2,431 of 2,500 connections are taken, 97 %",
                text="",
                written_bytes_per_s=None,
                share_of_load=None,
                share_of_ceiling=None,
                evidence=(),
                remedies=(),
                refuted_by="",
            ),
        ),
        notes=(),
    )


def quiet() -> Inspection:
    """A server with nothing but a note."""
    return inspection(
        is_standby=True,
        load_read_bytes_per_s=512.0,
        load_written_bytes_per_s=0.0,
        ceiling_bytes_per_s=None,
        ceiling_name="",
        causes=(cause(severity="note", written_bytes_per_s=300.0, share_of_load=0.5859, share_of_ceiling=None),),
        missing=(),
        notes=(),
        asked_s=0.0,
    )


def blind() -> Inspection:
    """Only one reading came."""
    return inspection(
        end_s=START_S,
        load_read_bytes_per_s=None,
        load_written_bytes_per_s=None,
        causes=(),
        missing=(Missing(name="a second reading", hides="verdict", remedy="inspect again."),),
        reading_count=1,
        glance_count=1,
    )


INSPECTIONS = {"search": inspection, "pooled": pooled, "quiet": quiet, "blind": blind}
