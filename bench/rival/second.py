"""
Simulate one second after another: demand, served requests, and what is left waiting.

Within a second every client is in equilibrium with one unknown, the wait `w` that the limiter adds
to each I/O: a client with n requests in flight completes n / (service + w). The smallest w at which
no bound is exceeded is the state of that second; w = 0 means that nothing was throttled. Backlogs,
credits and the limiter's slack carry over to the next second.

Rates are per second, sizes bytes, times seconds. Stream arrays have shape (streams,), profiles
(streams, ten-second bins) or (bins,).
"""

import numpy as np
from numba import njit

BIN_S = 10

CLOSED, OPEN = 0, 1

# Columns of a stream's constants.
MODE, THINK, READS, WRITES, READ_SIZE, WRITE_SIZE = range(6)
INFLIGHT, PACE, CPU, NET_OUT, NET_IN, MERGE, CACHED, NOISE, CARRY_S = range(6, 15)
STREAM_WIDTH = 15

# Columns of a bound's numbers.
BASE, PEAK, CREDITS_MAX, CREDITS_START, SLACK_S, GRANT = range(6)

# Scalars of the conditions: base latencies, and how steady everything is.
READ_S, WRITE_S, PER_BYTE_S, GROWTH, POWER, LATENCY_SD, OUTLIER_P, JITTER = range(8)
CPU_MAX, NET_MAX, ROOT_BYTES, ROOT_OPS = range(8, 12)

# Columns of the values that a sample collects.
R_BYTES, W_BYTES, R_OPS, W_OPS, R_WAIT, W_WAIT, QUEUE, CPU_USED = range(8)
NET_SENT, NET_GOT, UP, SESSIONS = range(8, 12)
LEFT = 12  # four balances follow
HELD = 16  # eight shares follow: bound x (base, peak)
ADDED = 24  # wait that the limiter added to each I/O
BACKLOG = 25  # items of open streams that nobody works on yet
DONE = 26  # items of all streams that were done
CAME = 27  # items of open streams that came
OPENED = 28  # and those of them that were done
SAMPLE_WIDTH = 29


@njit(cache=True)
def _rates(s, load, backlog, svc, wait, ops, cpu_wait, net_wait, x):
    """Fill x with items per second of every stream at a wait of `wait` per I/O."""
    for i in range(s.shape[0]):
        cycle = s[i, THINK] + s[i, CPU] * (1.0 + cpu_wait) + svc[i] + ops[i] * wait
        cycle += (s[i, NET_OUT] + s[i, NET_IN]) * net_wait
        if s[i, MODE] == 0.0:
            x[i] = load[i] / cycle
        else:
            x[i] = min(backlog[i], s[i, PACE], s[i, INFLIGHT] / cycle)


@njit(cache=True)
def _sum(x, cost):
    """Return the total cost of all items per second."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * cost[i]
    return total


@njit(cache=True)
def _pressure(x, cost, cap):
    """Return the largest ratio of cost to capacity, and the bound that has it."""
    worst, which = 0.0, 0
    for c in range(cap.shape[0]):
        ratio = _sum(x, cost[c]) / cap[c]
        if ratio > worst:
            worst, which = ratio, c
    return worst, which


@njit(cache=True)
def _wait_for(s, load, backlog, svc, ops, cpu_wait, net_wait, x, cost, cap, guess):
    """Return the smallest wait per I/O at which no capacity is exceeded; 0 without demand."""
    _rates(s, load, backlog, svc, 0.0, ops, cpu_wait, net_wait, x)
    ratio, which = _pressure(x, cost, cap)
    if ratio <= 1.0:
        return 0.0, which
    low, low_h = 0.0, 1.0 / ratio - 1.0
    high = max(guess * 1.3, 2e-4)
    for _ in range(60):
        _rates(s, load, backlog, svc, high, ops, cpu_wait, net_wait, x)
        ratio, which = _pressure(x, cost, cap)
        if ratio <= 1.0:
            break
        low, low_h = high, 1.0 / ratio - 1.0
        high *= 3.0
    high_h = 1.0 / max(ratio, 1e-9) - 1.0
    # 1/ratio is nearly linear in the wait, so its secant comes close; halving guarantees convergence.
    for step in range(40):
        if high_h < 1e-4 or high - low < 1e-9:
            break
        mid = low + (high - low) * low_h / (low_h - high_h)
        if step % 3 == 2 or mid <= low or mid >= high:
            mid = 0.5 * (low + high)
        _rates(s, load, backlog, svc, mid, ops, cpu_wait, net_wait, x)
        ratio, which = _pressure(x, cost, cap)
        h = 1.0 / max(ratio, 1e-9) - 1.0
        if h < 0.0:
            low, low_h = mid, h
        else:
            high, high_h = mid, h
    _rates(s, load, backlog, svc, high, ops, cpu_wait, net_wait, x)
    ratio, which = _pressure(x, cost, cap)
    return high, which


@njit(cache=True)
def _stretch_for(s, load, backlog, svc, ops, x, cost, cap, other, guess, is_cpu):
    """Return the stretch of CPU time (or wait per network byte) at which that resource is not exceeded."""
    low, high = 0.0, guess
    low_h, high_h = cap / _sum(x, cost) - 1.0, 0.0
    for step in range(60):
        # 1/total is nearly linear in the stretch, as it is in the wait; see _wait_for.
        mid = high
        if high_h > 0.0:
            if high_h < 1e-3 or high - low < 1e-12:
                break
            mid = low + (high - low) * low_h / (low_h - high_h)
            if step % 3 == 2 or mid <= low or mid >= high:
                mid = 0.5 * (low + high)
        if is_cpu:
            _rates(s, load, backlog, svc, 0.0, ops, mid, other, x)
        else:
            _rates(s, load, backlog, svc, 0.0, ops, other, mid, x)
        h = cap / max(_sum(x, cost), 1e-12) - 1.0
        if h < 0.0:
            low, low_h = mid, h
            high = high if high_h > 0.0 else 3.0 * mid
        else:
            high, high_h = mid, max(h, 1e-9)
    return high


@njit(cache=True)
def _latencies(air, slow, drift, rho, lat, rng):
    """
    Write this second's read and write latency into lat; return the drift.

    Latency drifts over minutes and varies over seconds; occasionally a second is bad.
    """
    drift = 0.998 * drift + 0.0632 * rng.standard_normal()
    tremble = np.exp(air[LATENCY_SD] * (0.5 * drift + 0.7 * rng.standard_normal()))
    tremble *= 1.0 + air[GROWTH] * rho ** air[POWER]
    late = rng.uniform(0.005, 0.05) if rng.random() < air[OUTLIER_P] else 0.0
    lat[0] = air[READ_S] * slow[0] * tremble + late
    lat[1] = air[WRITE_S] * slow[1] * tremble + late
    return drift


@njit(cache=True)
def _ask(s, loads, b, up, fresh, miss, lat, log_noise, load, backlog, svc, ops, cost, per_byte, rng):
    """Compute what every stream demands in this second, and the cost of one of its items."""
    for i in range(s.shape[0]):
        # A stream's noise lasts for about half a minute; it is drawn every four seconds.
        if fresh:
            log_noise[i] = 0.885 * log_noise[i] + 0.4656 * rng.standard_normal()
        wobble = np.exp(s[i, NOISE] * log_noise[i])
        reads, writes = s[i, READS] * (miss if s[i, CACHED] > 0.0 else 1.0), s[i, WRITES]
        ops[i] = reads + writes
        svc[i] = reads * (lat[0] + s[i, READ_SIZE] * per_byte)
        svc[i] += writes * (lat[1] + s[i, WRITE_SIZE] * per_byte)
        cost[0, i] = reads * s[i, READ_SIZE] + writes * s[i, WRITE_SIZE]
        cost[1, i] = ops[i]
        cost[2, i] = cost[0, i]
        cost[3, i] = ops[i] * s[i, MERGE]
        load[i] = loads[i, b] * up * wobble
        if s[i, MODE] == 0.0:
            continue
        arrived = load[i]
        if 0.0 < arrived < 1e5:
            arrived = max(arrived + np.sqrt(arrived) * rng.standard_normal(), 0.0)
        backlog[i] += arrived
        # Clients of a service give up after a while; a queue of jobs does not.
        if s[i, CARRY_S] > 0.0:
            backlog[i] = min(backlog[i], max(loads[i, b], 1.0) * s[i, CARRY_S])


@njit(cache=True)
def _capacities(bounds, air, credit, tokens, jitter, cap, in_peak):
    """Compute what each bound allows in this second: its level and its slack, less the system's own I/O."""
    for c in range(4):
        base, peak = bounds[c, BASE], bounds[c, PEAK]
        level = base
        if peak > base and credit[c] > 0.0:
            level = min(peak, base + credit[c])
        in_peak[c] = 1.0 if peak > base and level > 1.05 * base else 0.0
        root = air[ROOT_BYTES] if c == 0 else (air[ROOT_OPS] if c == 1 else 0.0)
        cap[c] = max(level * (1.0 + air[JITTER] * jitter) + tokens[c] - root, 1.0)


@njit(cache=True)
def _settle(bounds, air, credit, tokens, cap, x, cost, granted):
    """Pay for what was served; return how full the fullest bound was."""
    rho = 0.0
    for c in range(4):
        total = _sum(x, cost[c])
        level = max(cap[c] - tokens[c], 1.0)
        rho = max(rho, min(total / level, 1.0))
        tokens[c] = min(bounds[c, SLACK_S] * level, max(tokens[c] + level - total, 0.0))
        root = air[ROOT_BYTES] if c == 0 else (air[ROOT_OPS] if c == 1 else 0.0)
        left = credit[c] + bounds[c, BASE] - total - root
        if granted:
            left += bounds[c, GRANT] * bounds[c, CREDITS_MAX]
        credit[c] = min(max(left, 0.0), bounds[c, CREDITS_MAX])
    return rho


@njit(cache=True)
def _collect(row, s, x, miss, lat, wait, per_byte, svc, ops, load, backlog):
    """Add this second to its sample."""
    for i in range(s.shape[0]):
        reads = x[i] * s[i, READS] * (miss if s[i, CACHED] > 0.0 else 1.0)
        writes = x[i] * s[i, WRITES]
        r_wait = reads * (lat[0] + s[i, READ_SIZE] * per_byte + wait)
        w_wait = writes * (lat[1] + s[i, WRITE_SIZE] * per_byte + wait)
        row[R_BYTES] += reads * s[i, READ_SIZE]
        row[W_BYTES] += writes * s[i, WRITE_SIZE]
        row[R_OPS] += reads
        row[W_OPS] += writes
        row[R_WAIT] += r_wait
        row[W_WAIT] += w_wait
        row[QUEUE] += r_wait + w_wait
        row[CPU_USED] += x[i] * s[i, CPU]
        row[NET_SENT] += x[i] * s[i, NET_OUT]
        row[NET_GOT] += x[i] * s[i, NET_IN]
        row[DONE] += x[i]
        if s[i, MODE] != 0.0:
            row[CAME] += load[i]
            row[OPENED] += x[i]
        if s[i, MODE] == 0.0:
            row[SESSIONS] += load[i]
        else:
            row[BACKLOG] += max(backlog[i] - s[i, INFLIGHT], 0.0)
            row[SESSIONS] += min(x[i] * (svc[i] + ops[i] * wait + s[i, CPU]), s[i, INFLIGHT])
    row[UP] += 1.0


@njit(cache=True)
def _solve(s, load, backlog, svc, ops, x, cost, cap, air, net_cost, guess):
    """Settle CPU, then the network, then storage; leave the rates in x."""
    _rates(s, load, backlog, svc, 0.0, ops, 0.0, 0.0, x)
    cpu_wait, net_wait = 0.0, 0.0
    if _sum(x, s[:, CPU]) > air[CPU_MAX]:
        cpu_wait = _stretch_for(s, load, backlog, svc, ops, x, s[:, CPU], air[CPU_MAX], 0.0, 1.0, True)
        _rates(s, load, backlog, svc, 0.0, ops, cpu_wait, 0.0, x)
    if _sum(x, net_cost) > air[NET_MAX]:
        net_wait = _stretch_for(s, load, backlog, svc, ops, x, net_cost, air[NET_MAX], cpu_wait, 1e-9, False)
    return _wait_for(s, load, backlog, svc, ops, cpu_wait, net_wait, x, cost, cap, guess)


@njit(cache=True)
def run(s, loads, bounds, air, misses, slow, up, clock, grid, rng):
    """
    Simulate every second; return what each sample collects, shape (samples, SAMPLE_WIDTH).

    Args:
        slow: factors on read and write latency, shape (2, bins).
        clock: seconds since midnight at the first step; second of the day of a grant, or -1.
        grid: seconds of a sample; seconds to run before the first one.

    Returns:
        Sums over the seconds of each sample; waits are weighted by operations.
    """
    streams, sample_s, warm_s = s.shape[0], grid[0], grid[1]
    samples = (loads.shape[1] * BIN_S - warm_s) // sample_s
    out = np.zeros((samples, SAMPLE_WIDTH))
    log_noise, backlog = np.zeros(streams), np.zeros(streams)
    credit = bounds[:, CREDITS_START].copy()
    tokens = bounds[:, BASE] * bounds[:, SLACK_S]
    x, load, svc, ops = np.zeros(streams), np.zeros(streams), np.zeros(streams), np.zeros(streams)
    cost, cap, in_peak, lat = np.zeros((4, streams)), np.zeros(4), np.zeros(4), np.zeros(2)
    net_cost = s[:, NET_OUT] + s[:, NET_IN]
    guess, rho, drift, jitter = 1e-3, 0.0, 0.0, 0.0
    for t in range(warm_s + samples * sample_s):
        b = t // BIN_S
        drift = _latencies(air, slow[:, b], drift, rho, lat, rng)
        miss, pb = misses[b], air[PER_BYTE_S]
        _ask(s, loads, b, up[b], t % 4 == 0, miss, lat, log_noise, load, backlog, svc, ops, cost, pb, rng)
        jitter = 0.9 * jitter + 0.436 * rng.standard_normal()
        _capacities(bounds, air, credit, tokens, jitter, cap, in_peak)
        granted = (clock[0] + t) % 86400 == clock[1]
        if up[b] == 0.0:
            # Credits keep arriving while the instance is away, and nothing is measured.
            x[:] = 0.0
            _settle(bounds, air, credit, tokens, cap, x, cost, granted)
            continue
        wait, which = _solve(s, load, backlog, svc, ops, x, cost, cap, air, net_cost, guess)
        if wait > 0.0:
            guess = wait
        rho = _settle(bounds, air, credit, tokens, cap, x, cost, granted)
        for i in range(streams):
            if s[i, MODE] == 1.0:
                backlog[i] = max(backlog[i] - x[i], 0.0)
        if t < warm_s:
            continue
        row = out[(t - warm_s) // sample_s]
        _collect(row, s, x, miss, lat, wait, pb, svc, ops, load, backlog)
        for c in range(4):
            row[LEFT + c] += credit[c]
        if wait > 0.0:
            row[HELD + 2 * which + int(in_peak[which])] += 1.0
            row[ADDED] += wait
    return out
