"""
Well-formed captures of a host, as iostat, sar and sadf write them, made from the same made-up day.

Everything here is simulated, as in `corpus.py`; the real captures lie beside the unit tests.
"""

import json
from datetime import UTC, datetime

from fuzz.corpus import Made, iso, made

HEADER = "Linux 6.1.0 (db1) \t{date} \t_x86_64_\t(8 CPU)\n"
IOSTAT = "Device r/s rkB/s rrqm/s r_await w/s wkB/s wrqm/s w_await aqu-sz %util"
SAR = "DEV tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util"


def samples(day: Made) -> list[dict[str, float]]:
    """Rates of each step: operations, kilobytes, milliseconds, queue, busy percent."""
    columns = {
        "r": day.values["ReadIOPS"],
        "w": day.values["WriteIOPS"],
        "rkB": day.values["ReadThroughput"] / 1024,
        "wkB": day.values["WriteThroughput"] / 1024,
        "r_ms": day.values["ReadLatency"] * 1e3,
        "w_ms": day.values["WriteLatency"] * 1e3,
        "queue": day.values["DiskQueueDepth"],
        "cpu": day.values["CPUUtilization"],
    }
    return [{name: round(float(values[at]), 2) for name, values in columns.items()} for at in range(day.time_s.size)]


def iostat_text(day: Made) -> bytes:
    lines = [HEADER.format(date=iso(day.time_s[0])[:10])]
    for end_s, s in zip((day.time_s + day.step_s).tolist(), samples(day), strict=True):
        disk = (s["r"], s["rkB"], 0.0, s["r_ms"], s["w"], s["wkB"], 0.0, s["w_ms"], s["queue"])
        lines += [
            iso(end_s, "+0000"),
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle",
            f"          {s['cpu']:.2f} 0.00 0.00 0.00 0.00 {100 - s['cpu']:.2f}\n",
            IOSTAT,
            f"nvme1n1 {' '.join(map(str, disk))} 50.00\n",
        ]
    return "\n".join(lines).encode() + b"\n"


def iostat_json(day: Made) -> bytes:
    statistics = [
        {
            "timestamp": iso(end_s, "+0000"),
            "avg-cpu": {"user": s["cpu"], "iowait": 0.0, "idle": round(100 - s["cpu"], 2)},
            "disk": [
                {"disk_device": "nvme1n1", "r/s": s["r"], "w/s": s["w"], "rkB/s": s["rkB"]}
                | {"wkB/s": s["wkB"], "r_await": s["r_ms"], "w_await": s["w_ms"]}
                | {"aqu-sz": s["queue"], "util": 50.0}
            ],
        }
        for end_s, s in zip((day.time_s + day.step_s).tolist(), samples(day), strict=True)
    ]
    host = {"nodename": "db1", "number-of-cpus": 8, "date": "2021-03-08", "statistics": statistics}
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1).encode()


def sar_text(day: Made) -> bytes:
    ends = (day.time_s + day.step_s).tolist()
    clock = [datetime.fromtimestamp(t, UTC).strftime("%H:%M:%S") for t in [day.time_s[0], *ends]]
    rows = list(zip(clock[1:], samples(day), strict=True))
    disks = [
        f"{at} nvme1n1 {s['r'] + s['w']:.2f} {s['rkB']} {s['wkB']} 0.00 64.00 {s['queue']} {s['r_ms']} 50.00"
        for at, s in rows
    ]
    cpu = [f"{at} all {s['cpu']} 0.00 0.00 0.00 0.00 {100 - s['cpu']:.2f}" for at, s in rows]
    lines = [
        HEADER.format(date=iso(day.time_s[0])[:10]),
        *(f"{clock[0]} CPU %user %nice %system %iowait %steal %idle", *cpu, ""),
        *(f"{clock[0]} {SAR}", *disks),
        "Average: nvme1n1 1.00 1.00 1.00 0.00 1.00 1.00 1.00 1.00\n",
    ]
    return "\n".join(lines).encode()


def sadf_json(day: Made) -> bytes:
    statistics = []
    for end_s, s in zip((day.time_s + day.step_s).tolist(), samples(day), strict=True):
        date, time = iso(end_s, "").split("T")
        statistics.append(
            {
                "timestamp": {"date": date, "time": time, "utc": 1, "interval": day.step_s},
                "cpu-load": [{"cpu": "all", "iowait": 0.0, "idle": round(100 - s["cpu"], 2)}],
                "io": {
                    "tps": round(s["r"] + s["w"], 2),
                    "io-reads": {"rtps": s["r"], "bread": round(s["rkB"] * 2, 2)},
                    "io-writes": {"wtps": s["w"], "bwrtn": round(s["wkB"] * 2, 2)},
                },
                "disk": [
                    {"disk-device": "nvme1n1", "tps": round(s["r"] + s["w"], 2), "rkB": s["rkB"]}
                    | {"wkB": s["wkB"], "dkB": 0.0, "aqu-sz": s["queue"], "await": s["r_ms"]}
                ],
                "network": {"net-dev": [{"iface": "eth0", "rxkB": 1.0, "txkB": 2.0}]},
            }
        )
    host = {"nodename": "db1", "number-of-cpus": 8, "file-date": "2021-03-08"}
    host |= {"statistics": statistics, "restarts": []}
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1).encode()


def all_captures(day: Made | None = None) -> dict[str, bytes]:
    """One well-formed capture of each program and form, by file name."""
    day = day or made(40)
    return {
        "iostat.txt": iostat_text(day),
        "iostat.json": iostat_json(day),
        "sar.txt": sar_text(day),
        "sadf.json": sadf_json(day),
    }
