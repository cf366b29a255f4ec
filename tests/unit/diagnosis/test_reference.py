"""What is taken for unpressed must be unpressed: a fast ceiling is no reference for a slow one."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.recognition.evidence import AGAINST
from plimsoll.model.ceiling import Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.series import FloatArray
from plimsoll.units import mib_per_s

CLIENTS, SIZE = 32, 131_072.0
BASE, BURST = 86.875e6, 347.5e6
VOLUME = mib_per_s(250)
T3_GP2 = Instance(
    identifier="lab",
    db_class="db.t3.xlarge",
    engine="postgres",
    # One volume: from 400 GiB on there are four, which together pass more than the instance.
    storage=Storage(kind="gp2", size_gib=390.0),
    launched_s=1_652_745_600,
)


def scan(*phases: tuple[float, int], calm_minutes: int = 0) -> Diagnosis:
    """
    Clients that ask again at once: so many requests are always under way, and latency is N ÷ X.

    Args:
        phases: what is served, bytes/s, and for how many minutes.
        calm_minutes: minutes of light load in front, each request taking 0.9 ms.
    """
    rng = np.random.default_rng(3)
    level = np.concatenate([np.full(minutes, rate) for rate, minutes in phases])
    level = level * 0.998 * builders.wander(rng, level.size, 0.001)
    calm = 6e6 * builders.wander(rng, calm_minutes, 0.3) if calm_minutes else np.empty(0)
    rate: FloatArray = np.concatenate((calm, level))
    sizes = SIZE * builders.wander(rng, rate.size, 0.02)
    waits = np.concatenate((np.full(calm.size, 0.0013), CLIENTS * sizes[calm.size :] / level))
    waits *= builders.wander(rng, rate.size, 0.01)
    values = builders.storage(rate, size_bytes=sizes, latency_s=waits, read_share=1.0)
    return diagnose(builders.snapshot(values, instance=T3_GP2), catalog())


def levels(diagnosis: Diagnosis) -> list[float | None]:
    return [i.ceiling.value if i.ceiling else None for i in diagnosis.intervals]


@pytest.mark.parametrize("calm_minutes", [0, 60])
@pytest.mark.parametrize("first", [VOLUME, BURST], ids=["volume", "burst"])
def test_a_fast_ceiling_and_the_baseline_after_it_are_two_intervals(first, calm_minutes):
    """Half an hour at what credits or the volume allow, then the baseline: both are ceilings."""
    minutes = 45 if first == VOLUME else 31
    diagnosis = scan((first, minutes), (BASE, HOUR), calm_minutes=calm_minutes)

    assert [first, BASE] == levels(diagnosis)


@pytest.mark.parametrize("minutes", [25, HOUR])
def test_the_faster_ceiling_is_no_reference(minutes):
    """Latency at the baseline is compared with unpressed storage, not with the queue at the burst."""
    diagnosis = scan((BURST, 31), (BASE, minutes))
    at_base = diagnosis.intervals[-1]

    assert at_base.latency_s > 20 * at_base.latency_reference_s
    assert any("window shows no light load" in e.text for e in at_base.evidence)


@pytest.mark.parametrize(("level", "phase"), [(BURST, Phase.BURST), (BASE, Phase.BASELINE)])
def test_a_window_that_is_one_ceiling_has_one_interval(level, phase):
    """Nothing unpressed is seen, so the general reference is used; what is documented is found."""
    diagnosis = scan((level, 30))

    assert [(level, phase)] == [(i.ceiling.value, i.ceiling.phase) for i in diagnosis.intervals]


def test_no_evidence_argues_against_its_verdict_unreported():
    """If the rate is as flat at other times because of another ceiling, the evidence says so."""
    diagnosis = scan((BURST, 31), (BASE, HOUR))
    noise = [e for i in diagnosis.intervals for e in i.evidence if e.kind == "noise"]

    assert all((e.weight < 0) == e.text.endswith(AGAINST) for e in noise)
    assert all(e.value > e.reference for e in noise if e.weight > 0)
