"""The progress of a lab run, and its ground truth."""

import pytest
from rich.console import Console

from plimsoll.model.ceiling import Dimension, Phase
from plimsoll.model.lab import GroundTruth, LabProgress, StageNow, ThrottledCeiling, WrongClaim
from plimsoll.reports.lab.text import live, progress_line, progress_lines, render_truth

MB = 1e6
BYTES = StageNow(
    name="instance_ebs_throughput",
    dimension=Dimension.THROUGHPUT,
    served=347.4 * MB,
    ceiling=347.5 * MB,
    phase=Phase.BURST,
    balance_ratio=0.53,
    empty_in_s=16.0,
    is_holding=True,
)
OPS = StageNow(
    name="volume_iops",
    dimension=Dimension.IOPS,
    served=2650,
    ceiling=12_000,
    phase=Phase.BURST,
    balance_ratio=1.0,
    empty_in_s=None,
    is_holding=False,
)
PROGRESS = LabProgress(
    elapsed_s=14,
    duration_s=120,
    clock=60,
    bytes_per_s=347.4 * MB,
    ops_per_s=2650,
    queue_depth=15.2,
    late_ratio=0.0,
    stages=(BYTES, OPS),
    transactions_per_s=45.2,
)
BASELINE = ThrottledCeiling(
    name="instance_ebs_throughput",
    phase=Phase.BASELINE,
    dimension=Dimension.THROUGHPUT,
    limit=86.875 * MB,
    held_s=90,
    delivered=86.87 * MB,
    found_level=86.96 * MB,
    found_s=5340,
    is_long_enough=True,
)
BURST = ThrottledCeiling(
    name="instance_ebs_throughput",
    phase=Phase.BURST,
    dimension=Dimension.THROUGHPUT,
    limit=347.5 * MB,
    held_s=6.25,
    delivered=None,
    found_level=None,
    found_s=None,
    is_long_enough=False,
)
TRUTH = GroundTruth(
    clock=60,
    recorded_s=120,
    held=(BASELINE, BURST),
    wrong=(),
    is_void=False,
    kept_up="This machine kept up: no operation was late.",
)


def truth(**changes: object) -> GroundTruth:
    return GroundTruth(**{**{f: getattr(TRUTH, f) for f in TRUTH.__struct_fields__}, **changes})


def progress(**changes: object) -> LabProgress:
    fields = PROGRESS.__struct_fields__
    return LabProgress(**{**{f: getattr(PROGRESS, f) for f in fields}, **changes})


def test_the_display_says_rates_ceilings_credits_and_when_they_end():
    """One line for each limit, one for its credits, the time first and what holds requests last."""
    expected = [
        "emulated minute 14 of 120 (clock 60, 14 of 120 s), 45.2 transactions/s",
        "instance MB/s       347.4 MB/s ▕████████████████████▏ of 347.5 MB/s (burst)",
        "  credits                 53 % ▕██████████▋         ▏ empty in 16 s (16 min emulated)",
        "volume IOPS         2,650 IOPS ▕████▍               ▏ of 12,000 IOPS (burst)",
        "  credits                100 % ▕████████████████████▏ full",
        "now              instance EBS throughput (burst) throttles requests; queue depth 15.2",
    ]

    assert expected == progress_lines(PROGRESS)


def test_no_line_of_the_display_is_wider_than_a_terminal():
    """Eighty-eight columns at most; a narrower terminal cuts and does not wrap."""
    assert all(len(line) <= 88 for line in progress_lines(PROGRESS))


def test_a_narrow_terminal_cuts_the_display_and_keeps_its_lines():
    """Lines that wrapped would not be written over a second later."""
    shown = Console(width=40).render_lines(live(progress_lines(PROGRESS)))
    widths = [sum(segment.cell_length for segment in line) for line in shown]

    assert [40] * len(progress_lines(PROGRESS)) == widths


def test_a_slow_machine_is_reported_while_there_is_time_to_stop():
    """From one operation in a hundred."""
    assert "3.0 % of the operations came late" in progress_lines(progress(late_ratio=0.03))[-1]
    assert "late" not in progress_lines(progress(late_ratio=0.001))[-1]


def test_a_log_gets_one_line_with_the_credits_that_are_spent():
    """Those that stay full would only fill it."""
    expected = (
        "emulated minute 14 of 120 (clock 60, 14 of 120 s); 347.4 MB/s, 2,650 IOPS; "
        "instance EBS throughput (burst) throttles requests; "
        "instance MB/s credits 53 %, empty in 16 s (16 min emulated)"
    )

    assert expected == progress_line(PROGRESS)


def test_without_a_limit_in_the_way_that_is_reported():
    """Silence could mean anything."""
    assert "no limit throttles requests" in progress_line(progress(stages=(OPS,)))


def test_limits_of_ones_own_keep_their_names():
    """A file of limits may name its stages as it likes; a name cannot write to the terminal."""
    stage = StageNow(
        name="nas\x1b[2J_uplink",
        dimension=Dimension.THROUGHPUT,
        served=1 * MB,
        ceiling=2 * MB,
        phase=Phase.FIXED,
        balance_ratio=None,
        empty_in_s=None,
        is_holding=True,
    )
    lines = progress_lines(progress(stages=(stage,)))

    assert lines[1].startswith("nas\ufffd[2J uplink")
    assert "\x1b" not in "".join(lines)


def test_the_truth_is_next_to_what_was_found():
    """For each limit how long it held, what was delivered, and the error of the level that was found."""
    expected = """
GROUND TRUTH
  Over 120 s (2 h on credit clock 60) the gate throttled requests at these
  limits. The diagnosis agrees with it.
  Limit                         Held    Emulated   Delivered       Found   Error
  instance EBS throughput,     2 min  1 h 30 min  86.87 MB/s  1 h 29 min  +0.1 %
  baseline, 86.875 MB/s
  instance EBS throughput,     6.2 s       6 min               too short
  burst, 347.5 MB/s
  - Less than 8 emulated minutes at a limit are too short for samples of one
    minute. Not finding such a limit is no error.
  - This machine kept up: no operation was late.
"""
    text = render_truth(TRUTH, width=80, color=False)

    assert expected == text


def test_a_narrow_terminal_gets_paragraphs_and_no_broken_words():
    """A table of five columns needs seventy-six."""
    text = " ".join(render_truth(TRUTH, width=50, color=False).split())

    assert (
        "instance EBS throughput, baseline, 86.875 MB/s: held 2 min (1 h 30 min emulated)" in text
    )
    assert "found for 1 h 29 min, error +0.1 %" in text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (truth(held=()), "the gate throttled no request"),
        (
            truth(
                wrong=(
                    WrongClaim(
                        name="volume_iops",
                        phase=Phase.FIXED,
                        dimension=Dimension.IOPS,
                        level=2990,
                        seconds=600,
                    ),
                )
            ),
            "The diagnosis names volume IOPS at 2,990 IOPS for 10 min; the gate throttled nothing there.",
        ),
        (truth(is_void=True, kept_up="This run is void: too late."), "This run is void: too late."),
    ],
)
def test_what_is_wrong_is_reported_in_a_sentence(given, expected):
    """Nothing held, something made up, and a machine that was too slow."""
    assert expected in " ".join(render_truth(given, width=80, color=False).split())


def test_a_limit_that_was_missed_is_not_called_too_short():
    """It was held for long enough to be found."""
    missed = ThrottledCeiling(
        **{
            **{f: getattr(BASELINE, f) for f in BASELINE.__struct_fields__},
            "found_level": None,
            "found_s": None,
        }
    )
    text = render_truth(truth(held=(missed,)), width=80, color=False)

    assert "not found" in text
    assert "The diagnosis missed some of them." in " ".join(text.split())
