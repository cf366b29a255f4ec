"""When credits are back: what others take, without the batch that used them up."""

import pytest

from builders import START_S, snapshot
from plimsoll.app.budget import ReserveForecast, reserve_forecast
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric

T3 = Instance(db_class="db.t3.xlarge", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))


def forecast(*, before: int, minutes: int, balance: float = 0.1) -> ReserveForecast:
    """Others take 5 MB/s all the time; a batch adds 195 MB/s after some minutes."""
    taken = [5e6] * before + [200e6] * minutes
    found = snapshot(
        {
            Metric.READ_BYTES_PER_S: [0.0] * len(taken),
            Metric.WRITE_BYTES_PER_S: taken,
            Metric.READ_OPS_PER_S: [0.0] * len(taken),
            Metric.WRITE_OPS_PER_S: [one / 131_072 for one in taken],
            Metric.BYTE_BALANCE_RATIO: [balance] * len(taken),
            Metric.IO_BALANCE_RATIO: [1.0] * len(taken),
            Metric.VOLUME_BALANCE_RATIO: [1.0] * len(taken),
        },
        instance=T3,
    )
    return reserve_forecast(found, 0.3, others_until_s=START_S + 60.0 * before)


def test_however_long_the_batch_ran_it_is_none_of_the_others():
    """Longer than half an hour, too, which is what a pace looks back."""
    times = [forecast(before=60, minutes=minutes).ready_in_s for minutes in (20, 29, 40, 110)]

    assert times[0] is not None
    assert times[0] > 0
    assert times == pytest.approx([times[0]] * 4)


def test_what_others_take_is_not_guessed_of_the_batch():
    found = forecast(before=4, minutes=60)

    assert found.ready_in_s is None
    assert "at a time that is not known, because the load of others was not measured" in found.text


def test_credits_that_are_there_need_no_others():
    assert 0.0 == forecast(before=0, minutes=60, balance=0.4).ready_in_s
