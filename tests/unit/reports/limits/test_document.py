"""The limit sheet as text."""

import pytest

from plimsoll.app.render import render
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.sheet import (
    ChainRate,
    Knee,
    LimitSheet,
    SheetRow,
    UnusableStorage,
)
from plimsoll.reports.limits.curve import curve_text, has_burst, mb_ticks

KIB = 1024.0


def rate(mb: float, iops: float, binding: Family = Family.VOLUME_IOPS) -> ChainRate:
    return ChainRate(bytes_per_s=mb * 1e6, ops_per_s=iops, binding=binding)


def row(kib: float, held: ChainRate, most: ChainRate | None = None) -> SheetRow:
    return SheetRow(io_size_bytes=kib * KIB, baseline=held, burst=most or held)


ROWS = (
    row(8, rate(24.576, 3000), rate(98.304, 12_000)),
    row(1024, rate(287.5, 274, Family.INSTANCE_EBS_THROUGHPUT), rate(593.75, 566)),
)
KNEE = Knee(
    io_size_bytes=96 * KIB,
    bytes_per_s=287.5e6,
    ops_per_s=3000,
    below=Family.VOLUME_IOPS,
    above=Family.INSTANCE_EBS_THROUGHPUT,
)


def sheet(rows: tuple[SheetRow, ...] = ROWS, **fields: object) -> LimitSheet:
    plain = LimitSheet(
        instance=Instance(
            db_class="db.r5.2xlarge",
            engine="postgres",
            storage=Storage(kind="gp2", size_gib=1000),
        ),
        volume_count=4,
        rows=rows,
        knee=KNEE,
        burst_knee=None,
        curve=rows,
        stages=(),
        ceilings=(),
        balances=(),
        unreachable=(),
        origins=(),
        notes=(),
    )
    return LimitSheet(**({f: getattr(plain, f) for f in plain.__struct_fields__} | fields))


@pytest.mark.parametrize("width", [0, 60, 75, 80, 100, 400])
def test_no_line_is_longer_than_asked(width: int):
    """From 60 columns on no line is longer than the width, and none ends in blanks."""
    lines = render(sheet(), width=width).splitlines()

    assert max(len(line) for line in lines) <= max(width, 60)
    assert [line for line in lines if line != line.rstrip()] == []


def test_without_colour_there_is_no_escape_sequence():
    """A pipe gets plain text."""
    assert "\x1b" not in render(sheet(), width=80)
    assert "\x1b" in render(sheet(), width=80, color=True)


def test_names_from_outside_cannot_steer_the_terminal():
    """An escape sequence in an engine's name is not printed."""
    foul = sheet(instance=Instance(db_class="db.r5.large", engine="post\x1b[31mgres"))

    assert "\x1b" not in render(foul, width=80)


def test_a_narrow_table_leaves_iops_out():
    """Below 76 columns MB/s and what binds remain."""
    wide = render(sheet(), width=80)
    narrow = render(sheet(), width=60)

    assert "12,000" in wide
    assert "12,000" not in narrow
    assert "98.304" in narrow


def test_without_a_burst_there_is_one_pair_of_columns():
    """A chain without credits has no burst column."""
    plain = sheet((row(8, rate(24.576, 3000)), row(1024, rate(131.07, 125))))

    assert not has_burst(plain)
    assert "burst" not in render(plain, width=80)


def test_knees_are_reported_in_words():
    """Where it lies, what binds below and above, with numbers."""
    text = " ".join(render(sheet(), width=80).split())

    assert (
        "Knee at 96 KiB: below it volume IOPS (3,000) binds, above it instance EBS throughput"
        " (287.5 MB/s)." in text
    )


def test_no_knee_is_reported_too():
    """Where one family binds at every size, that is the answer."""
    text = render(sheet(knee=None), width=80)

    assert "No knee at the baseline: instance EBS throughput binds at every size." in text


@pytest.mark.parametrize(
    ("bought", "burst", "baseline", "words"),
    [
        (30_000, 18_750, 12_000, "can use 12,000 IOPS, and 18,750 IOPS in bursts"),
        (15_000, 18_750, 12_000, "can use 12,000 IOPS, and more only in bursts"),
        (30_000, 18_750, 18_750, "30,000 IOPS; this class can use 18,750 IOPS."),
    ],
)
def test_what_cannot_be_reached_is_reported_in_words(
    bought: float, burst: float, baseline: float, words: str
):
    """Above the burst it is lost, below it it is had while credits last."""
    item = UnusableStorage(
        family=Family.VOLUME_IOPS, unit="ops/s", bought=bought, burst=burst, baseline=baseline
    )
    text = " ".join(render(sheet(unreachable=(item,)), width=80).split())

    assert words in text


def test_a_sheet_without_a_curve_has_neither_table_nor_curve():
    """Ceilings and notes remain."""
    bare = sheet((), knee=None, notes=("Nothing is known.",))
    text = render(bare, width=80)

    assert "CURVE" not in text
    assert "Nothing is known." in text


def test_the_curve_marks_both_lines_and_the_knee():
    """Baseline, burst and knee have signs of their own, so that nothing rests on colour."""
    drawn = curve_text(sheet(), width=80)

    assert all(sign in drawn for sign in "·◆8")
    assert max(len(line) for line in drawn.splitlines()) <= 80


def test_equal_sheets_give_equal_curves():
    """Drawing leaves nothing behind."""
    assert curve_text(sheet(), width=80) == curve_text(sheet(), width=80)


@pytest.mark.parametrize(
    ("low", "high"), [(24, 600), (0.1, 12_500), (86.8, 86.9), (5, 11), (1000, 12_500)]
)
def test_ticks_are_few_and_within_the_range(low: float, high: float):
    """At most nine numbers, none outside of what is drawn."""
    ticks = mb_ticks([low, high])

    assert 1 <= len(ticks) <= 9
    assert all(low <= tick <= high for tick in ticks)
