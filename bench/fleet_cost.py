"""
Price a run of the fleet on EMR Serverless, by arithmetic from a measured rate; nothing is run.

The rate is what `python bench/fleet.py` prints: seconds × processes ÷ instances.
Run: python bench/fleet_cost.py --core-s 1.0 --instances 10000
"""

import argparse
import math
from decimal import Decimal
from typing import NamedTuple

# Linux/x86 in us-east-1, on demand (AWS, "Amazon EMR pricing", as published in 2024; not checked since). Others: --usd-per-vcpu-hour, --usd-per-gb-hour.
USD_PER_VCPU_HOUR = Decimal("0.052624")
USD_PER_GB_HOUR = Decimal("0.0057785")
LEAST_BILLED_S = 60
"""A worker is billed for a minute at least."""
# A judgement: a worker is billed from when it is ready; Spark and the first import of Plimsoll then take this long.
START_S = 60
HOUR_S = 3600


class Workers(NamedTuple):
    """Hold the executors of a run; the driver is one more."""

    count: int
    vcpus: int = 4
    gb: int = 16


class Cost(NamedTuple):
    """Hold what a run takes."""

    seconds: float
    usd: Decimal


def cost_of(
    instances: int,
    core_s: float,
    workers: Workers,
    *,
    usd_per_vcpu_hour: Decimal = USD_PER_VCPU_HOUR,
    usd_per_gb_hour: Decimal = USD_PER_GB_HOUR,
) -> Cost:
    """
    Return time and price of a run: work ÷ cores + start, and that for each worker and the driver.

    Requests to S3 are left out: a lake of 14 days and 64 buckets is about a thousand files.

    Args:
        instances: number of them.
        core_s: seconds of one core for each instance, measured.
        workers: executors; their driver is of the same size.
        usd_per_vcpu_hour: price.
        usd_per_gb_hour: price.
    """
    seconds = START_S + instances * core_s / (workers.count * workers.vcpus)
    billed_s = Decimal(math.ceil(max(seconds, LEAST_BILLED_S)))
    hourly = workers.vcpus * usd_per_vcpu_hour + workers.gb * usd_per_gb_hour
    return Cost(seconds, (workers.count + 1) * hourly * billed_s / HOUR_S)


def main() -> None:
    """Print the price for several numbers of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core-s", type=float, default=1.0, help="seconds of a core an instance")
    parser.add_argument("--instances", type=int, default=10_000)
    parser.add_argument("--usd-per-vcpu-hour", type=Decimal, default=USD_PER_VCPU_HOUR)
    parser.add_argument("--usd-per-gb-hour", type=Decimal, default=USD_PER_GB_HOUR)
    given = parser.parse_args()
    print(f"{given.instances:,} instances at {given.core_s:g} s of one core each")
    for count in (1, 4, 16):
        found = cost_of(
            given.instances,
            given.core_s,
            Workers(count),
            usd_per_vcpu_hour=given.usd_per_vcpu_hour,
            usd_per_gb_hour=given.usd_per_gb_hour,
        )
        print(f"{count:3d} workers of 4 vCPUs and 16 GB: {found.seconds / 60:5.1f} min, ${found.usd:.2f}")


if __name__ == "__main__":
    main()
