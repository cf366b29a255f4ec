"""
Turn what is measured into an allowance, interval by interval.

Rule 1: time is an argument; this file has no clock and no I/O.
Rule 2: feed-forward first. The allowance follows from limits, credits and rates, not from latency: a deep bucket
        shows no latency until it is empty. Feedback corrects rates and ratio, and slows a batch
        that has filled the device in the last seconds.
Rule 3: what is missing or stale leads to the share of the baseline, and a note says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite

from plimsoll.errors import UsageError
from plimsoll.kernel import Stage
from plimsoll.load.pace.law.allowance import baseline_share_per_s, has_bucket, stage_allowance, time_to_finish_s
from plimsoll.load.pace.law.caused import UnwrittenPages, as_merged, most_requests_of, requests_of
from plimsoll.load.pace.law.forecast import DeviceRate, balance_now
from plimsoll.load.pace.law.history import PaceHistory
from plimsoll.load.pace.law.peers import KnownPeers
from plimsoll.load.pace.law.split import BYTES_BOUNDS, OPS_BOUNDS, RateSplit, split_after, split_at_start
from plimsoll.load.pace.law.terms import PaceTerms, check_terms
from plimsoll.load.pace.law.truths import FastTruth, SlowTruth
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.model.pace import PaceAllowance, PaceBasis, PacedCeiling, PaceRatio
from plimsoll.units import format_duration, format_ratio

# A sample of the storage is exact but for its edges; counters of a server miss what its caches and the
# system's do, and come in bursts at each checkpoint.
_SLOW_NOISE_RATIO = 0.05
_FAST_NOISE_RATIO = 0.3
# The size of an operation until one was measured: loads write WAL and tables in requests of some pages.
_SIZE_AT_START_BYTES = 32_768.0
# A load that would take longer is said not to end.
_LONGEST_S = 30 * 86_400.0

# Steps of a tenth in so many seconds are a factor of 300, which is more than any rate has to rise.
_STEPS_MOST_S = 60.0


class PaceController:
    """The state of one paced batch."""

    def __init__(self, chain: Sequence[Stage], terms: PaceTerms, *, notes: Sequence[str] = ()) -> None:
        """
        Start without measurements.

        Args:
            chain: ceilings in series; names are values of Family.
            terms: what is granted.
            notes: what the caller knows to be missing, for every allowance.

        Raises:
            UsageError: no ceiling is known, or the terms are not possible.
        """
        if not chain:
            raise UsageError(
                "no storage limit of this target is known, so there is nothing to pace by",
                "Give --class, --engine, --storage and --size-gib.",
            )
        self._chain = tuple(chain)
        self._terms = check_terms(terms)
        self._notes = tuple(notes)
        self._bytes, self._ops = split_at_start(BYTES_BOUNDS), split_at_start(OPS_BOUNDS)
        self._history = PaceHistory()
        self._unwritten = UnwrittenPages()
        self._peers = KnownPeers(terms.stale_s)
        self._slow: SlowTruth | None = None
        self._last: tuple[float, float] | None = None
        self._work_left_bytes: float | None = None
        self._wal_bytes = self._batch_bytes = self._full_page_bytes = 0.0

    def observe_slow(self, slow: SlowTruth) -> None:
        """Take metrics of the storage; samples that were taken before are skipped."""
        known_s = self._slow.end_s if self._slow is not None else None
        self._slow = slow
        last = self._history.last
        for sample in slow.rates:
            if known_s is not None and sample.end_s <= known_s + 0.5:
                continue
            self._history.calibrate(sample)
            batch = self._history.all_bytes_per_s((sample.start_s, sample.end_s))
            length_s = sample.end_s - sample.start_s
            # Counters of the server follow the batch at once; then a late sample would be a step back.
            if last is None or last.server is None:
                self._bytes = _split(self._bytes, sample.bytes_per_s, batch, length_s)
                self._ops = _split(self._ops, sample.ops_per_s, batch, length_s)

    def observe_fast(self, fast: FastTruth) -> None:
        """Take what the batch, its peers and the server did in the interval that has just ended."""
        length_s = fast.end_s - fast.start_s
        assert length_s > 0
        told, most = fast.peers_bytes_per_s, self._rate_most()
        self._peers.observe(
            None if told is None else _at_most(told, most),
            length_s,
            foreign=_at_most(fast.foreign_bytes_per_s, most),
            part_count=fast.part_count,
        )
        fast = replace(fast, peers_bytes_per_s=_at_most(self._peers.rates, _caused_by(fast)))
        # Batches that load the same server cost about the same for each byte. If each told what it takes at the
        # device, an error of one would become the opposite error of the other, and come back.
        batch = fast.all_bytes_per_s
        if fast.server is not None:
            change = self._unwritten.add(fast)
            fast = replace(fast, server=as_merged(fast.server, change.paid_bytes))
            assert fast.server is not None
            moved, requests = self._history.device_of(fast.server)
            taken, ops = moved / length_s, requests / length_s
            caused = max(moved + change.owed_bytes, 0.0) / length_s
            self._bytes = _split(self._bytes, caused, batch, length_s, is_fast=True)
            owed = self._history.device_per_server_op * requests_of(change.owed_bytes)
            caused_ops = max(requests + owed, 0.0) / length_s
            self._ops = _split(self._ops, caused_ops, batch, length_s, is_fast=True)
            if fast.batch_bytes > 0:
                self._count_wal(fast)
        else:
            taken = (self._bytes.others_per_s or 0.0) + self._bytes.ratio * batch
            ops = (self._ops.others_per_s or 0.0) + self._ops.ratio * batch
        rate = DeviceRate(start_s=fast.start_s, end_s=fast.end_s, bytes_per_s=taken, ops_per_s=ops)
        self._history.add(fast, rate)

    def device_total(self, now_s: float) -> DeviceRate | None:
        """
        Return what everybody takes at the device: by the server's counters, else by the newest sample.

        None if neither is known, or the sample is too old.
        """
        last = self._history.last
        rates = self._history.rates if last is not None and last.server is not None else ()
        age_s = self._age_s(now_s)
        if not rates and self._slow is not None and age_s is not None:
            rates = self._slow.rates if age_s <= self._terms.stale_s else ()
        if not rates or not (isfinite(rates[-1].bytes_per_s) and isfinite(rates[-1].ops_per_s)):
            return None
        return rates[-1]

    def set_work_left(self, batch_bytes: float | None) -> None:
        """State how many bytes the batch still has to send; None if that is not known."""
        self._work_left_bytes = batch_bytes

    def allowance(self, now_s: float) -> PaceAllowance:
        """
        Return how fast the batch may go at this moment.

        Args:
            now_s: epoch seconds, never before the last call's.
        """
        age_s = self._age_s(now_s)
        is_fresh = age_s is not None and age_s <= self._terms.stale_s
        notes = [*self._notes, *self._missing(age_s), *self._peers.missing()]
        balances = self._balances(now_s) if is_fresh else {}
        time_left_s = self._time_left_s(now_s, balances) if is_fresh else self._terms.horizon_s
        shared = [self._shared(stage, balances.get(stage.name)) for stage in self._chain]
        if is_fresh:
            ceilings = [
                self._measured(stage, balances.get(stage.name), time_left_s, share, notes)
                for stage, share in zip(self._chain, shared, strict=True)
            ]
        else:
            ceilings = shared
        binding = min(ceilings, key=lambda one: one.batch_bytes_per_s)
        floor = min(share.batch_bytes_per_s for share in shared)
        wanted = binding.batch_bytes_per_s
        return PaceAllowance(
            time_s=now_s,
            basis=PaceBasis.MEASURED if is_fresh else PaceBasis.BASELINE_SHARE,
            bytes_per_s=self._stepped(wanted, floor, now_s),
            unstepped_bytes_per_s=wanted,
            binding=binding.family,
            ceilings=tuple(ceilings),
            ratio=self._ratio(),
            reserve_ratio=self._terms.reserve_ratio,
            time_left_s=time_left_s,
            metrics_age_s=age_s,
            peer_count=1 + self._peers.count,
            unwritten_bytes=self._unwritten.bytes,
            notes=tuple(dict.fromkeys(notes)),
        )

    def time_to_finish_s(self, now_s: float) -> float | None:
        """Return the seconds until the batch ends under the credits that are left; None if not known."""
        if self._work_left_bytes is None or self._bytes.others_per_s is None:
            return None
        peers = sum(self._peers.rates)
        return time_to_finish_s(
            self._chain,
            self._spendable(self._balances(now_s)),
            terms=self._terms,
            io_size_bytes=self._io_size_bytes(),
            work_bytes=self._bytes.ratio * self._work_left_bytes,
            work_ops=self._ops.ratio * self._work_left_bytes,
            others_bytes_per_s=self._bytes.others_per_s + self._bytes.ratio * peers,
            others_ops_per_s=(self._ops.others_per_s or 0.0) + self._ops.ratio * peers,
            longest_s=_LONGEST_S,
        )

    def _rate_most(self) -> float:
        """Return the most that all batches together can send: what the storage takes at its highest, at the least cost."""
        return min(
            max(stage.baseline, stage.burst) * stage.stripes / self._split_of(stage).bounds.low for stage in self._chain
        )

    def _count_wal(self, fast: FastTruth) -> None:
        assert fast.server is not None
        # The server's WAL is that of all batches.
        self._batch_bytes += fast.all_bytes_per_s * (fast.end_s - fast.start_s)
        self._wal_bytes += fast.server.wal_bytes
        self._full_page_bytes += fast.server.full_page_images * fast.server.block_bytes

    def _age_s(self, now_s: float) -> float | None:
        end_s = self._slow.end_s if self._slow is not None else None
        return None if end_s is None else max(now_s - end_s, 0.0)

    def _missing(self, age_s: float | None) -> list[str]:
        share = format_ratio(self._terms.baseline_share_ratio)
        if age_s is None:
            return [f"no metrics were read; the batch gets {share} of each baseline, and no credits"]
        if age_s > self._terms.stale_s:
            old = format_duration(age_s)
            return [f"the newest sample is {old} old; the batch gets {share} of each baseline, and no credits"]
        return []

    def _balances(self, now_s: float) -> dict[str, float]:
        if self._slow is None:
            return {}
        return {
            stage.name: balance_now(
                stage,
                balance.ratio,
                measured_s=balance.time_s,
                now_s=now_s,
                rates=self._history.rates or self._slow.rates,
            )
            for stage in self._chain
            if (balance := self._slow.balances.get(stage.name)) is not None
            and now_s - balance.time_s <= 2 * self._terms.stale_s
        }

    def _spendable(self, balances: Mapping[str, float | None]) -> dict[str, float]:
        """Return the credits less those that pages will cost which the server has not written yet, 0–1."""
        owed = self._unwritten.bytes
        left = {}
        for stage in self._chain:
            balance = balances.get(stage.name)
            if balance is not None:
                cost = owed if stage.counts == "bytes" else most_requests_of(owed)
                per_stripe = cost / (stage.capacity * stage.stripes) if has_bucket(stage) else 0.0
                left[stage.name] = max(balance - per_stripe, 0.0)
        return left

    def _time_left_s(self, now_s: float, balances: dict[str, float]) -> float:
        terms = self._terms
        if terms.deadline_s is not None:
            return max(terms.deadline_s - now_s, terms.lag_s)
        if self._work_left_bytes is not None and balances:
            found = self.time_to_finish_s(now_s)
            if found is not None:
                return found
        return max(terms.horizon_s, terms.lag_s)

    def _io_size_bytes(self) -> float:
        last = self._history.rates[-1:] or (self._slow.rates[-1:] if self._slow else ())
        for rate in last:
            if rate.ops_per_s > 0 and rate.bytes_per_s > 0 and isfinite(rate.bytes_per_s):
                return rate.bytes_per_s / rate.ops_per_s
        return _SIZE_AT_START_BYTES

    def _shared(self, stage: Stage, balance_ratio: float | None) -> PacedCeiling:
        """Return the share of the baseline, for everybody and for the batch alike."""
        size = self._io_size_bytes()
        part = baseline_share_per_s(stage, share_ratio=self._terms.baseline_share_ratio, io_size_bytes=size)
        part /= self._peers.part_count
        return self._ceiling(stage, balance_ratio, total=part, others=None, batch=part)

    def _measured(
        self, stage: Stage, balance_ratio: float | None, time_left_s: float, shared: PacedCeiling, notes: list[str]
    ) -> PacedCeiling:
        split = self._split_of(stage)
        name = FAMILIES[Family(stage.name)].name
        if has_bucket(stage) and balance_ratio is None:
            notes.append(f"the credits of {name} were not measured; only its baseline is granted")
        if split.others_per_s is None:
            notes.append(
                f"the load of others on {name} was not measured; the batch gets "
                f"{format_ratio(self._terms.baseline_share_ratio)} of its baseline"
            )
            return shared
        allowed = stage_allowance(
            stage,
            self._spendable({stage.name: balance_ratio}).get(stage.name),
            terms=self._terms,
            io_size_bytes=self._io_size_bytes(),
            time_left_s=time_left_s,
        )
        peers = self._peers.rates
        by_peers = split.ratio * sum(peers)
        free = allowed.total_per_s - split.others_per_s
        # An equal part; or more, if peers do not take theirs. Those of other roles are among the others already; what
        # they tell can only leave more room for them.
        kept = by_peers + split.ratio * sum(self._peers.foreign)
        batch = max(free / self._peers.part_count, free - kept, 0.0)
        others = split.others_per_s + by_peers
        batch = min(batch, self._slowed(stage, allowed.most_per_s) / self._peers.part_count)
        return self._ceiling(stage, balance_ratio, total=allowed.total_per_s, others=others, batch=batch)

    def _slowed(self, stage: Stage, most_per_s: float) -> float:
        """
        Return what all batches together may take if more than the most was taken in the last seconds.

        The cost of a byte changes within a checkpoint. Credits are spent on average, but requests wait whenever the
        sum is above the highest rate: then batches send less, in proportion.
        """
        taken, ops, sent = self._history.recent_rates()
        split = self._split_of(stage)
        now = taken if stage.counts == "bytes" else ops
        others = min(split.others_per_s or 0.0, most_per_s)
        if now <= most_per_s:
            return inf
        return split.ratio * sent * (most_per_s - others) / (now - others)

    def _ceiling(
        self, stage: Stage, balance_ratio: float | None, *, total: float, others: float | None, batch: float
    ) -> PacedCeiling:
        family = Family(stage.name)
        ratio = self._split_of(stage).ratio
        return PacedCeiling(
            family=family,
            unit=FAMILIES[family].unit,
            baseline_per_s=stage.baseline * stage.stripes,
            burst_per_s=stage.burst * stage.stripes,
            balance_ratio=balance_ratio if has_bucket(stage) else None,
            total_per_s=total,
            others_per_s=others,
            batch_per_s=batch,
            device_per_batch_byte=ratio,
            batch_bytes_per_s=batch / ratio,
        )

    def _split_of(self, stage: Stage) -> RateSplit:
        return self._bytes if stage.counts == "bytes" else self._ops

    def _stepped(self, wanted: float, floor: float, now_s: float) -> float:
        """Return the rate that steps allow: down at once, up by a part of itself in each second."""
        if self._last is None:
            given = min(wanted, floor)
        else:
            last_s, last = self._last
            # A machine that slept for hours must not end in an overflow.
            elapsed_s = min(max(now_s - last_s, 0.0), _STEPS_MOST_S)
            given = min(wanted, max(last, floor) * (1 + self._terms.step_ratio) ** elapsed_s)
        self._last = (now_s, given)
        return given

    def _ratio(self) -> PaceRatio:
        has_counts = self._batch_bytes > 0
        return PaceRatio(
            bytes_per_byte=self._bytes.ratio,
            bytes_per_byte_sd=self._bytes.ratio_sd,
            ops_per_byte=self._ops.ratio,
            is_learned=self._bytes.is_learned,
            wal_per_byte=self._wal_bytes / self._batch_bytes if has_counts else None,
            full_page_ratio=min(self._full_page_bytes / self._wal_bytes, 1.0)
            if has_counts and self._wal_bytes > 0
            else None,
        )


def _at_most(rates: tuple[float, ...], most: float) -> tuple[float, ...]:
    """Return rates that are told, made smaller in proportion where their sum is not possible."""
    total = sum(rates)
    return rates if total <= most else tuple(rate * (most / total) for rate in rates)


def _caused_by(fast: FastTruth) -> float:
    """Return the most that other batches can have sent, by what the server counted; infinite where it did not."""
    if fast.server is None:
        return inf
    length_s = fast.end_s - fast.start_s
    moved = fast.server.moved_bytes + fast.server.extend_bytes
    return max(moved / BYTES_BOUNDS.low - fast.batch_bytes, 0.0) / length_s


def _split(split: RateSplit, total: float, batch: float, length_s: float, *, is_fast: bool = False) -> RateSplit:
    if not isfinite(total):
        return split
    return split_after(
        split,
        total_per_s=max(total, 0.0),
        batch_bytes_per_s=batch,
        length_s=length_s,
        noise_ratio=_FAST_NOISE_RATIO if is_fast else _SLOW_NOISE_RATIO,
    )
