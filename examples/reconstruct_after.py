"""
Rebuild the search service after its change of class, from published figures, with the law.

    python examples/reconstruct_after.py [FOLDER]

The sequel to `reconstruct.py`, for comparison: the same days of the week a week later, on the new class.
It says that it is simulated. Equal seeds give equal files.
"""

import sys
from pathlib import Path

import numpy as np
from msgspec.structs import replace
from reconstruct import FINE_S, SEARCH, Tape, mixed

from plimsoll.catalog.load import catalog
from plimsoll.kernel import replay as replay_chain
from plimsoll.limits import chain_of
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.units import gib, mb_per_s

NAME = "search-service-after"
LARGER = replace(SEARCH, db_class="db.r5.4xlarge")


def search_service_after() -> Snapshot:
    """Story 1 on db.r5.4xlarge: 325 MB/s by day, reads in 1 ms and writes in 15 ms."""
    tape = Tape("2021-03-15T18:00:00", 48, seed=4)
    hour = tape.hour
    night, day = (hour >= 1) & (hour < 2), (hour >= 2) & (hour < 17.5)
    demand = mb_per_s(1) * np.where(night, 360.0, np.where(day, 325.0, 95.0)) * tape.wander(0.08)
    # 325 MB/s under the 18,750 IOPS of the class take at least 17.3 KB an operation.
    size = np.where(night, 26_000, np.where(day, 22_500, 14_200)) * tape.wander(0.04)
    chain = chain_of(LARGER, catalog())
    served = replay_chain(demand / size, size, step_s=FINE_S, chain=chain, carry=False)
    throttled = served.throttled_ratio

    def latency(kind: str) -> FloatArray:
        calm, pressed = (0.001, 0.005) if kind == "read" else (0.015, 0.1)
        return mixed(throttled, calm * tape.wander(0.1), pressed * tape.wander(0.25))

    tape.put_storage(served, np.clip(0.55 * tape.wander(0.08), 0.2, 0.8), latency)
    tape.put(Metric.QUEUE_DEPTH, mixed(throttled, 5 * tape.wander(0.3), 72 * tape.wander(0.2)))
    tape.put(Metric.CPU_RATIO, np.clip(0.31 * tape.wander(0.12), 0, 0.62))
    tape.put(Metric.FREEABLE_MEMORY_BYTES, gib(71) * tape.wander(0.02), digits=6)
    tape.put(Metric.FREE_STORAGE_BYTES, gib(1_440) * (1 - 2e-8 * tape.time_s), digits=8)
    tape.put(Metric.CONNECTION_COUNT, np.round(2_900 * tape.wander(0.06)))
    tape.put(Metric.NETWORK_RECEIVE_BYTES_PER_S, mb_per_s(110) * tape.wander(0.15))
    tape.put(Metric.NETWORK_TRANSMIT_BYTES_PER_S, mb_per_s(170) * tape.wander(0.15))
    return tape.snapshot(
        LARGER,
        "Reconstructed by the simulator from the figures of 'Discovering RDS throughput limits' "
        "(Salsify, 2021); demand, size and date are invented to fit them.",
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    target = folder / NAME / "snapshot.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(encode_snapshot(search_service_after()) + b"\n")
    print(f"{target}: {target.stat().st_size / 1e3:,.0f} kB")


if __name__ == "__main__":
    main()
