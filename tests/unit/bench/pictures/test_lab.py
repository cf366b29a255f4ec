"""The picture of the lab: its recording is read as a terminal shows it, and it is the picture of that recording."""

import json

import pytest
from PIL import Image

from contract.tree import ROOT
from pictures import lab

CAST = ROOT / "docs" / "images" / "lab.cast"
GIF = CAST.with_suffix(".gif")
BYTES_MAX = 1_500_000
SHOWN_S_MAX = 30


def cast(*events: tuple[float, str], width: int = 60, height: int = 3) -> str:
    head = {"version": 2, "width": width, "height": height}
    return "\n".join([json.dumps(head), *(json.dumps([at_s, "o", text]) for at_s, text in events)])


def test_writes_that_belong_together_are_one_picture_and_waits_are_cut():
    """Two writes of one redraw are one frame; a long wait is shown for a moment; the run keeps its seconds."""
    frames = lab.frames_of(
        cast((0, "setting up\r\n"), (20, "one"), (20.05, " and two\r\n"), (21, "db is up against X\r\n"))
    )

    assert [["setting up", "", ""], ["setting up", "one and two", ""]] == [
        lab.text_of(frame.lines) for frame in frames[:2]
    ]
    assert [lab.WAIT_S_MAX, 1] == [frame.shown_s for frame in frames[:2]]


def test_a_panel_is_drawn_over_itself():
    """What a program erases is not in the picture."""
    frames = lab.frames_of(cast((0, "credits 9 %"), (1, "\r\x1b[2Kcredits 8 %"), (2, "\r\n is up against X\r\n")))

    assert [["credits 9 %"], ["credits 8 %"]] == [lab.text_of(frame.lines)[:1] for frame in frames[:2]]


def test_the_end_goes_back_to_the_head_of_the_report():
    """A report that is longer than the terminal is shown from its first line, then to its last one."""
    rest = "".join(f"line {number}\r\n" for number in range(6))
    *_, first, last = lab.frames_of(cast((0, "run\r\n"), (1, f"X is up against Y\r\n{rest}")))

    assert ["X is up against Y", "line 0", "line 1"] == lab.text_of(first.lines)
    assert ["line 3", "line 4", "line 5"] == lab.text_of(last.lines)
    assert (lab.HEAD_S, lab.TAIL_S) == (first.shown_s, last.shown_s)


def test_colours_are_kept():
    """The red of a headline is red in the frame."""
    frames = lab.frames_of(cast((0, "\x1b[1;31mX is up against Y\x1b[0m\r\n")))

    assert lab.Cell("X", "red", is_bold=True) == frames[0].lines[0][0]


@pytest.mark.parametrize(
    "said",
    [
        " ".join(lab.COMMAND),
        "of 347.5 MB/s (burst)",
        "of 86.875 MB/s (baseline)",
        "none left",
        "is up against its instance EBS throughput: 86.875 MB/s (baseline)",
        "diagnosis agrees with it.",
        "This machine kept up: no operation was late.",
    ],
)
def test_the_recording_shows_what_the_page_says(said: str):
    """The run in the picture spends its credits, is diagnosed, and the truth agrees."""
    frames = lab.frames_of(CAST.read_text(encoding="utf-8"))
    texts = ["\n".join(lab.text_of(frame.lines)) for frame in frames]

    assert any(said in text.replace(" \\\n    ", " ") for text in texts)


def test_the_picture_is_drawn_from_the_recording_and_is_small():
    """The committed picture names the committed recording, and loops within 30 seconds and 1.5 MB."""
    frames = lab.frames_of(CAST.read_text(encoding="utf-8"))
    shown_ms = 0
    with Image.open(GIF) as picture:
        comment = picture.info["comment"]
        count = picture.n_frames
        for number in range(count):
            picture.seek(number)
            shown_ms += picture.info["duration"]

    assert lab.digest(CAST) == comment
    assert len(frames) == count
    assert sum(frame.shown_s for frame in frames) == pytest.approx(shown_ms / 1e3, abs=0.2)
    assert shown_ms <= SHOWN_S_MAX * 1e3
    assert GIF.stat().st_size <= BYTES_MAX
