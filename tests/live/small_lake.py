"""A small simulated lake: sound instances in several buckets, and a poisoned one."""

import json
import math
from pathlib import Path

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.fleet.lake import Lake
from unit.app.lake.streams import json_file, record

SOUND = ("billing", "carts", "claims", "orders", "search", "users")
POISONED = "poisoned"
MINUTES = 1440
# The baseline throughput of db.m6g.large, which one instance is cut off at.
CEILING_BYTES_PER_S = 81.25e6
_UNITS = {
    **dict.fromkeys(("ReadThroughput", "WriteThroughput"), "Bytes/Second"),
    **dict.fromkeys(("ReadIOPS", "WriteIOPS"), "Count/Second"),
    **dict.fromkeys(("ReadLatency", "WriteLatency"), "Seconds"),
    **dict.fromkeys(("EBSByteBalance%", "EBSIOBalance%"), "Percent"),
    "DiskQueueDepth": "Count",
}


def small_lake(folder: Path) -> Lake:
    """The lake, below a folder, of a day of points every minute."""
    records = [
        record(metric, minute, value, instance) | {"unit": _UNITS[metric]}
        for place, instance in enumerate(SOUND)
        for minute in range(MINUTES)
        for metric, value in _values(place, minute).items()
    ]
    records += [record("ReadThroughput", minute, -1.0, POISONED) for minute in range(60)]
    json_file(folder / "in/day.gz", records)
    described = [
        {
            "DBInstanceIdentifier": name,
            "DBInstanceClass": "db.m6g.large",
            "Engine": "postgres",
            "AvailabilityZone": "eu-central-1a",
            "StorageType": "gp3",
            "AllocatedStorage": 500,
            "MultiAZ": False,
        }
        for name in (*SOUND, POISONED)
    ]
    (folder / "in/instances.json").write_text(json.dumps({"DBInstances": described}))
    lake = open_lake(str(folder / "lake"))
    ingest(str(folder / "in"), lake, bucket_count=16)
    return lake


def _values(place: int, minute: int) -> dict[str, float]:
    asked = (20e6 if place else 60e6) * (1 + math.sin((minute + 90 * place) / MINUTES * math.tau))
    served = min(asked, CEILING_BYTES_PER_S)
    is_cut = asked > served
    latency_s = 0.02 if is_cut else 0.001
    ops = served / 16_384
    return {
        "ReadThroughput": served * 0.6,
        "WriteThroughput": served * 0.4,
        "ReadIOPS": ops * 0.6,
        "WriteIOPS": ops * 0.4,
        "ReadLatency": latency_s,
        "WriteLatency": latency_s,
        "DiskQueueDepth": ops * latency_s,
        "EBSByteBalance%": 0.0 if is_cut else 90.0,
        "EBSIOBalance%": 99.0,
    }
