"""Put the forecasts of a load together: bounds, what fits, what it costs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import inf, isfinite

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.names import smallest_first
from plimsoll.load.rehearse.law.cost import Case, LoadSample, ServerSetup
from plimsoll.load.rehearse.law.forecast import LOAD_ITSELF, Circumstances, LoadForecast, forecast, rate_of
from plimsoll.model.ceiling import Family
from plimsoll.model.rehearsal import RehearsedCost, RehearsedIndex, RehearsedTime, RehearsedWork, Span

# A replay has a thousand steps, so times that differ by less are equal.
_TIME_DIGITS = 3
# A judgement: eight pages of 8 KiB. Of less, most is what a table costs once, and round trips to the server.
_LEARNT_LEAST_BYTES = 65_536.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadToForecast:
    """A load of which a sample is known."""

    sample: LoadSample
    server: ServerSetup
    input_bytes: float
    finish_within_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastLoad:
    """A load under some circumstances, replayed in every case."""

    load: LoadToForecast
    around: Circumstances
    cases: Mapping[Case, LoadForecast | None]


def forecast_of(load: LoadToForecast, around: Circumstances) -> ForecastLoad:
    """Replay a load under these circumstances in every case."""
    cases = {case: forecast(load.sample, load.server, around, input_bytes=load.input_bytes, case=case) for case in Case}
    return ForecastLoad(load=load, around=around, cases=cases)


def time_of(ended: ForecastLoad, db_class: str | None, *, is_present: bool) -> RehearsedTime:
    """Return how long a load takes on a class, without prices."""
    found = ended.cases
    # What decides is that of the likely case; where only bounds are known, that of the slow one.
    main = found[Case.LIKELY] or found[Case.HIGH]
    assert main is not None
    seconds = _span({case: None if one is None else one.seconds for case, one in found.items()})
    if is_too_small(ended.load.sample):
        seconds = Span(low=0.0, likely=None, high=inf)
    stage = next((stage for stage in ended.around.chain if stage.name == main.binding), None)
    return RehearsedTime(
        db_class=db_class,
        is_present=is_present,
        seconds=seconds,
        credits_end_s=main.credits_end_s if found[Case.LIKELY] is not None else None,
        binding=None if main.binding == LOAD_ITSELF else Family(main.binding),
        end_per_s=main.end_per_s,
        unit="ops/s" if stage is not None and stage.counts == "ops" else "bytes/s",
        fits=_fits(seconds, ended.load.finish_within_s),
    )


def is_too_small(sample: LoadSample) -> bool:
    """Return whether a sample has too few bytes to tell how long a load takes."""
    return sample.input_bytes < _LEARNT_LEAST_BYTES


def work_span(ended: ForecastLoad) -> RehearsedWork:
    """Return what a load asks of the device."""
    found = ended.cases
    likely = found[Case.LIKELY]
    return RehearsedWork(
        device_bytes=_span({case: None if one is None else one.work.bytes for case, one in found.items()}),
        device_ops=_span({case: None if one is None else one.work.ops for case, one in found.items()}),
        checkpoint_count=None if likely is None else likely.work.checkpoints,
    )


def cost_of(sample: LoadSample, *, places: int, seconds: float) -> RehearsedCost:
    """Return what a sample cost, for a report."""
    size = sample.input_bytes
    return RehearsedCost(
        sample_bytes=size,
        row_count=sample.row_count,
        place_count=places,
        seconds=seconds,
        table_per_byte=sample.table_bytes / size,
        index_per_byte=sum(one.sample_bytes for one in sample.indexes) / size,
        wal_per_byte=sample.wal_bytes / size,
        input_bytes_per_s=Span(
            low=rate_of(sample, Case.HIGH),
            likely=None if sample.is_rate_limited else rate_of(sample, Case.LIKELY),
            high=rate_of(sample, Case.LOW),
        ),
        indexes=tuple(
            RehearsedIndex(
                name=one.name,
                method=one.method,
                bytes_per_row=one.sample_bytes / max(sample.row_count, 1),
                present_bytes=one.present_bytes,
                scatter_ratio=one.scatter_ratio,
            )
            for one in sample.indexes
        ),
    )


def with_price(time: RehearsedTime, usd_per_day_more: Decimal | None) -> RehearsedTime:
    """Return a time with its prices: by the day, and for as long as the load takes."""
    seconds = time.seconds.high if time.seconds.likely is None else time.seconds.likely
    if usd_per_day_more is None or not isfinite(seconds):
        return replace(time, usd_per_day_more=usd_per_day_more)
    return replace(
        time,
        usd_per_day_more=usd_per_day_more,
        usd_for_load=usd_per_day_more * Decimal(str(round(seconds, 3))) / 86_400,
    )


def by_price(time: RehearsedTime) -> tuple[bool, Decimal, float, bool, tuple[float, int, str]]:
    """
    Return the order of classes: the cheapest first, those without a price last; then the fastest.

    Where times are equal too, the present class comes first, then smaller sizes, then newer generations.
    """
    more, seconds = time.usd_per_day_more, float(f"{time.seconds.high:.{_TIME_DIGITS}g}")
    size = smallest_first(time.db_class or "")
    return more is None, more or Decimal(0), seconds, not time.is_present, size


def cheapest_of(present: RehearsedTime, classes: Iterable[RehearsedTime]) -> RehearsedTime | None:
    """Return the cheapest class that finishes in time, the present one included; None if none is known to."""
    if present.fits is None and present.seconds.high == inf:
        return None
    priced = [with_price(present, Decimal(0)), *classes]
    fitting = [one for one in priced if one.fits and one.usd_per_day_more is not None]
    return min(fitting, key=by_price, default=None)


def steps_of(present: RehearsedTime, classes: Sequence[RehearsedTime]) -> tuple[RehearsedTime, ...]:
    """Return the classes that are faster than every cheaper one, by a tenth at least; the cheapest first."""
    found: list[RehearsedTime] = []
    best = inf
    for one in sorted([with_price(present, Decimal(0)), *classes], key=by_price):
        if one.seconds.high < 0.9 * best:
            best = one.seconds.high
            if not one.is_present:
                found.append(one)
    return tuple(found)


def _span(values: dict[Case, float | None]) -> Span:
    low, likely, high = (values[case] for case in Case)
    assert low is not None
    assert high is not None
    inside = [low, high] if likely is None else [low, likely, high]
    return Span(low=float(np.min(inside)), likely=likely, high=float(np.max(inside)))


def _fits(seconds: Span, within_s: float | None) -> bool | None:
    if within_s is None:
        return None
    if seconds.high <= within_s:
        return True
    return False if seconds.low > within_s else None
