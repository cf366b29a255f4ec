"""
The law a second time: rates and events in plain Python, instead of allowances over pieces of time.

At every moment there is one rate of service, and every balance moves in a straight line until the
next event: a bucket is full or empty, a parcel is served, the step ends. No formula is shared with
the core. A bucket is a dictionary of the fields of `Stage`, with its `balance`.
"""

from math import inf


def cost(bucket, size):
    units = size if bucket["counts"] == "bytes" else max(1.0, size / bucket["unit_bytes"])
    return units / bucket["stripes"]


def slope(bucket, spent_per_s):
    gain = bucket["baseline"] - spent_per_s
    at_edge = bucket["balance"] >= bucket["capacity"] if gain > 0 else bucket["balance"] <= 0
    # An empty bucket that binds earns what it spends, whatever rounding says.
    return 0.0 if at_edge or abs(gain) < 1e-12 * bucket["baseline"] else gain


def time_to_edge(bucket, slope):
    edge = bucket["capacity"] if slope > 0 else 0.0
    return (edge - bucket["balance"]) / slope if slope else inf


def simulate(demand, sizes, step_s, buckets, *, carry):
    """Yield served ops, served bytes, waiting ops and throttled seconds of every step."""
    queue = []
    for arriving, size in zip(demand, sizes, strict=True):
        queue.append([0.0, size])
        served, served_bytes, throttled_s, left_s = 0.0, 0.0, 0.0, step_s
        while left_s > 0:
            while len(queue) > 1 and queue[0][0] <= 0:
                queue.pop(0)
            waits, served_size = queue[0]
            rates = [b["burst" if b["balance"] > 0 else "baseline"] / cost(b, served_size) for b in buckets]
            inflow = arriving if len(queue) == 1 else 0.0
            is_idle = len(queue) == 1 and waits <= 0 and min(rates) >= arriving
            rate = arriving if is_idle else min(rates)
            slopes = [slope(b, rate * cost(b, served_size)) for b in buckets]
            drained_s = waits / (rate - inflow) if waits > 0 and rate > inflow else inf
            edges_s = [time_to_edge(b, s) for b, s in zip(buckets, slopes, strict=True)]
            dt = min(left_s, drained_s, *edges_s)
            for b, s, edge_s in zip(buckets, slopes, edges_s, strict=True):
                b["balance"] += s * dt
                if edge_s <= dt:
                    b["balance"] = b["capacity"] if s > 0 else 0.0
            queue[-1][0] += arriving * dt
            queue[0][0] = 0.0 if drained_s <= dt else max(0.0, queue[0][0] - rate * dt)
            served, served_bytes = served + rate * dt, served_bytes + rate * dt * served_size
            throttled_s, left_s = throttled_s + (0.0 if is_idle else dt), left_s - dt
        queue = queue if carry else []
        yield served, served_bytes, sum(ops for ops, _ in queue), throttled_s
