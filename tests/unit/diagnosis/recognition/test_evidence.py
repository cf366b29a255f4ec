"""The sentences under a claim carry the right number, unit and comparison."""

from dataclasses import replace

import numpy as np
import pytest

from builders import ceiling
from plimsoll.diagnosis.recognition.binding import BalanceView, Match
from plimsoll.diagnosis.recognition.credits import CreditAccount, Credits
from plimsoll.diagnosis.recognition.evidence import (
    AGAINST,
    context_evidence_of,
    evidence_of,
    refuted_by,
    ruled_out_of,
    shared_evidence_of,
    size_evidence_of,
)
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.rate_words import describe, format_ceiling
from plimsoll.diagnosis.recognition.score import SIGNS, score_of, weights_of
from plimsoll.diagnosis.recognition.signs import LevelCase, Stretch
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.metric import Metric
from plimsoll.units import mib_per_s
from unit.diagnosis.recognition.test_score import PLAIN

NAN = float("nan")
BYTES, OPS = Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO
EBS, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS
BASELINE = ceiling(EBS, Phase.BASELINE, 287.5e6, balance=BYTES)
BURST = ceiling(EBS, Phase.BURST, 593.75e6, balance=BYTES)
LEGACY = ceiling(EBS, Phase.LEGACY, 212.5e6, legacy=Phase.BASELINE, balance=BYTES)
OPS_BASELINE = ceiling(IOPS, Phase.BASELINE, 12_000, balance=OPS)
VOLUME = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, mib_per_s(500))
CPU = ceiling(Family.CPU, Phase.FIXED, 1.0)

SEEN = replace(
    PLAIN, minutes=90.0, samples=90, run_count=3, log_sd=0.002, log_sd_elsewhere=0.05, log_excess=2.0,
    least_log_excess=1.5, waited_share=1.0, elasticity=0.02, cpu_ratio=0.3,
)  # fmt: skip
STRETCH = Stretch(latency_s=0.018, reference_s=0.0012, queue_depth=72.4)


SHOWN = CreditAccount(credits=Credits.SHOWN, text="what was served before emptied it")


def plateau(row=LEGACY, *, level=213e6, signs=SEEN, balances=None, others=()) -> Plateau:
    rest = 1.0 - 0.1 * len(others)
    case = LevelCase(
        level=level,
        dimension=row.dimension if row else Dimension.THROUGHPUT,
        signs=signs,
        balances=balances or {},
        matches=(
            Match(ceiling=row, probability=rest, z=0.5),
            *(Match(ceiling=other, probability=0.1, z=1.0) for other in others),
        ),
        has_catalog=True,
    )
    weights = weights_of(case)
    return Plateau(
        case=case,
        level_log_se=0.0015,
        runs=np.array([[0, 30], [40, 70], [80, 110]]),
        weights=weights,
        score=score_of(weights),
    )


def view(low: float, high: float, change_per_s: float = 0.0) -> BalanceView:
    return BalanceView(low=low, high=high, change_per_s=change_per_s)


def texts_by_kind(one: Plateau, meanwhile=(NAN,)) -> dict[str, str]:
    found = evidence_of(one, STRETCH)
    found += size_evidence_of(STRETCH)
    found += context_evidence_of(one, np.asarray(meanwhile, dtype=float))
    return {evidence.kind: evidence.text for evidence in found}


def reasons(one: Plateau, *rows, other_rate=None) -> dict[float, str]:
    return {out.ceiling.value: out.reason for out in ruled_out_of(one, rows, other_rate=other_rate)}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (BASELINE, "instance EBS throughput baseline of 287.5 MB/s"),
        (LEGACY, "legacy instance EBS throughput baseline of 212.5 MB/s"),
        (OPS_BASELINE, "instance EBS IOPS baseline of 12,000 IOPS"),
        (VOLUME, "volume throughput of 500 MiB/s (524.29 MB/s)"),
    ],
)
def test_a_ceiling_is_described_in_the_unit_it_is_sold_in(row, text):
    """Instance limits are decimal MB/s, volume limits MiB/s, a limit without credits has no phase."""
    assert text == describe(row)
    assert text.endswith(format_ceiling(row))


@pytest.mark.parametrize(("level", "expected"), [(213e6, "0.24 % above"), (211e6, "0.71 % below")])
def test_the_match_says_how_far_and_on_which_side(level, expected):
    """The level is compared with the documented number, in percent."""
    text = texts_by_kind(plateau(level=level))["match"]

    assert f"the level is {expected} the documented legacy instance EBS throughput baseline" in text


def test_flatness_and_the_workloads_own_noise_are_distinguished():
    """A spread of 0.2 % at the level is one sign, 5 % at other times another."""
    text = texts_by_kind(plateau())

    assert text["flatness"] == "reads and writes together stayed within 0.2 % of 213 MB/s"
    assert "and by 5 % at other times" in text["noise"]
    assert "noise" not in texts_by_kind(plateau(signs=replace(SEEN, log_sd_elsewhere=NAN)))


def test_what_speaks_against_the_claim_says_so():
    """A workload that is flatter elsewhere than at the level is no proof, and is not reported as one."""
    signs = replace(SEEN, log_sd=0.0034, log_sd_elsewhere=0.0006)
    text = texts_by_kind(plateau(signs=signs))

    assert text["noise"] == (
        f"from one sample to the next the rate varied by 0.34 % at this level, and by 0.06 % at other times; {AGAINST}"
    )
    assert AGAINST not in text["flatness"]


def test_every_sign_that_weighs_is_reported_and_nothing_else():
    """The evidence of an interval is the table's rows, the heaviest first; their sum is the score."""
    one = plateau(signs=replace(SEEN, pressed_above_ratio=0.1, free_above_ratio=0.2), balances={BYTES: view(0.0, 0.0)})
    found = evidence_of(one, STRETCH)
    kinds = {e.kind for e in found}

    assert {name for name, weight in one.weights.items() if abs(weight) >= 0.03} == kinds
    assert {"cliff", "exceeded"} <= kinds
    assert {e.kind for e in found if e.weight < 0} == {e.kind for e in found if e.text.endswith(AGAINST)}
    assert [abs(e.weight) for e in found] == sorted((abs(e.weight) for e in found), reverse=True)
    np.testing.assert_allclose(sum(e.weight for e in found), sum(one.weights.values()), atol=0.2)


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.name)
def test_every_sign_has_a_sentence(sign):
    """Each row tells a number in one sentence, without a full stop."""
    one = plateau(None, balances={BYTES: view(0.0, 0.0)})
    evidence = sign.text_of(replace(one.case, stretch=STRETCH, credits=SHOWN))

    assert evidence.text
    assert not evidence.text.endswith(".")


def test_unknown_limits_have_no_match():
    """Where no number fits, none is claimed."""
    assert "match" not in texts_by_kind(plateau(None, level=150e6))


def test_a_constant_io_size_is_confessed():
    """Where both rates stand still and no number decides, the other reading of the plateau is reported."""
    text = texts_by_kind(plateau(None, level=150e6), np.full(60, 9_155.0))["io_size"]

    assert "a limit of 9,155 IOPS would look the same" in text


def test_a_varying_io_size_decides():
    """Where operations varied while bytes stood still, it is a limit of throughput."""
    varied = 9_000 * np.linspace(0.9, 1.1, 60)

    assert "io_size" not in texts_by_kind(plateau(None, level=150e6), varied)
    assert "io_size" not in texts_by_kind(plateau(), np.full(60, 9_155.0))


def test_a_general_reference_is_reported_as_one():
    """Where the window never shows the storage at ease, the sentence does not claim that it does."""
    changed = texts_by_kind(plateau(signs=replace(SEEN, is_reference_seen=False)))["waiting"]

    assert "15 times the 1.2 ms usual for SSD storage (the window shows no light load)" in changed


def test_nothing_is_claimed_that_was_not_measured():
    """Without latency and queue the evidence says that waiting was not measured; no size, no size."""
    blind = replace(SEEN, log_excess=NAN, waited_share=NAN, elasticity=NAN)
    found = evidence_of(plateau(signs=blind), Stretch())
    by_name = {e.kind: e.text for e in found}

    assert by_name["waiting"].startswith("neither latency nor queue depth was measured")
    assert not {"waited_share", "elasticity"} & by_name.keys()
    assert () == size_evidence_of(Stretch())
    assert () == context_evidence_of(plateau(signs=blind), np.array([NAN]))


def test_numbers_above_and_below_are_ruled_out_by_their_ratio():
    """A burst far above was not reached; a baseline below was passed."""
    found = reasons(plateau(BASELINE, level=287e6), BURST, LEGACY)

    assert "the level is only 48 % of this limit" == found[593.75e6]
    assert "the level is 35 % above this limit, so it is not enforced here" == found[212.5e6]


def test_the_limit_that_is_named_is_not_ruled_out():
    """What explains the level, and what is no limit of storage, is not in the list."""
    assert {} == reasons(plateau(BASELINE, level=287e6), BASELINE, CPU)


def test_credits_rule_out_at_the_same_number():
    """Of two limits at one number the balance decides, and the reason says so."""
    same = ceiling(EBS, Phase.BURST, 287.5e6, balance=BYTES)
    full = reasons(plateau(VOLUME, level=287e6, balances={BYTES: view(0.9, 1.0)}), BASELINE)
    empty = reasons(plateau(BASELINE, level=287e6, balances={BYTES: view(0.0, 0.0)}), same)

    assert "binds only at 0 % credits, and EBSByteBalance% stayed at 90 % or more" in full[287.5e6]
    assert "it needs credits, and EBSByteBalance% was at 0 %" in empty[287.5e6]


def test_a_weaker_explanation_is_shown_with_its_probability():
    """What would fit too is not hidden."""
    near = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 286e6)
    found = reasons(plateau(BASELINE, level=287e6, others=(near,)), near)

    assert "possible, but less likely (10 %)" == found[286e6]


@pytest.mark.parametrize("unmeasured", [None, NAN])
def test_the_other_dimension_is_not_ruled_out_unseen(unmeasured):
    """Without operations measured nothing is reported about an IOPS limit."""
    assert {} == reasons(plateau(), OPS_BASELINE, other_rate=unmeasured)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (BASELINE, "EBSByteBalance% stayed well above 0 % at 213 MB/s"),
        (LEGACY, "EBSByteBalance% stayed well above 0 % at 213 MB/s"),
        (BURST, "more than 213 MB/s were served for minutes with credits left"),
        (VOLUME, "more than 213 MB/s were served for minutes with the same class and storage"),
        (None, "more than 213 MB/s were served for minutes"),
    ],
)
def test_every_claim_says_what_would_refute_it(row, expected):
    """A baseline is refuted by credits left, a burst and a fixed limit by more being served."""
    assert refuted_by(plateau(row)).startswith(expected)


def test_only_sentences_of_a_stretch_depend_on_the_stretch():
    """The other sentences of a level are made once for all its stretches, and are the same for each."""
    case = plateau(signs=replace(SEEN, step_log=0.5, cpu_ratio=0.99), balances={BYTES: view(0, 0)}).case
    other = replace(case, stretch=STRETCH)

    assert {"waiting"} == {s.name for s in SIGNS if s.text_of(case) != s.text_of(other)}
    assert {"waiting"} == {s.name for s in SIGNS if s.is_of_stretch}


def test_shared_sentences_do_not_change_the_evidence():
    """A stretch has the same evidence, whether the sentences of its level are known before or not."""
    one = plateau()

    assert evidence_of(one, STRETCH) == evidence_of(one, STRETCH, shared_evidence_of(one))
