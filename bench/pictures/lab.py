"""
Record a run of the lab in a terminal, and draw the recording as an animated picture.

Run: python bench/pictures/lab.py [--record] [--cast FILE] [--gif FILE]
`--record` plays the lab first: a real PostgreSQL under the gate, which needs what `plimsoll lab postgres` needs.
The recording is an asciicast, version 2. Waits before the run are cut to a moment; the run itself keeps its time. At
the end the picture goes back to the first lines of the report, then to the last ones.
"""

import argparse
import codecs
import fcntl
import hashlib
import json
import os
import pty
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyte
from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
COLUMNS, ROWS = 88, 24
COMMAND = (
    "plimsoll lab postgres --class db.t3.xlarge --storage gp2 --size-gib 1000",
    "--workload scan --credits 0.3 --for 20s",
)
CAPTION = "A real PostgreSQL under simulated limits. An emulated minute takes one second."

# Seconds in the picture: what a wait is cut to, how long the two ends of the report are shown.
WAIT_S_MAX = 1.05
HEAD_S, TAIL_S = 4.5, 3.5
# Writes nearer than this are one picture: a panel is redrawn in several.
TOGETHER_S = 0.12

FONT_PX, CELL = 20, (12, 25)
MARGIN = 16
FONTS = Path("/usr/share/fonts/truetype/dejavu")
PAPER, CAPTION_PAPER, INK, FAINT = (24, 26, 32), (40, 44, 54), (222, 224, 230), (150, 156, 170)
INKS = {
    "red": (255, 110, 103),
    "green": (120, 200, 130),
    "brown": (240, 190, 90),
    "blue": (120, 170, 255),
    "magenta": (214, 150, 255),
    "cyan": (110, 210, 220),
}
# Blocks that fill a cell from an edge: the part that they fill, in eighths of width or of height.
_FROM_LEFT = {chr(0x2588 + n): 8 - n for n in range(8)}
_FROM_BELOW = {chr(0x2580 + n): n for n in range(1, 9)}


class Cell(NamedTuple):
    """Hold one character as the terminal shows it."""

    data: str
    ink: str
    is_bold: bool


Lines = tuple[tuple[Cell, ...], ...]


class Frame(NamedTuple):
    """Hold what the terminal shows, and for how many seconds."""

    lines: Lines
    shown_s: float


def text_of(lines: Lines) -> list[str]:
    """Return lines of cells as text, without what is blank at their ends."""
    return ["".join(cell.data for cell in line).rstrip() for line in lines]


def recorded(command: tuple[str, ...]) -> Iterator[tuple[float, str]]:
    """Run a command in a terminal; yield what it writes, with the seconds since its start."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            os.environ.pop(name, None)
        words = " ".join(command).split()
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    decoder = codecs.getincrementaldecoder("utf-8")()
    begun_s = time.monotonic()
    while True:
        try:
            read = os.read(terminal, 65536)
        except OSError:  # Linux ends a terminal whose program has ended in this way
            break
        if not read:
            break
        if text := decoder.decode(read):
            yield time.monotonic() - begun_s, text
    os.waitpid(pid, 0)


def write_cast(path: Path) -> None:
    """Play the lab, and save the recording with the command as it would be typed."""
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "timestamp": int(time.time())}
    typed = "$ " + " \\\r\n    ".join(COMMAND) + "\r\n"
    events: list[tuple[float, str]] = [(0.0, typed), *recorded(COMMAND)]
    lines = [json.dumps(head | {"title": CAPTION})]
    lines += [json.dumps([round(at_s, 3), "o", text], ensure_ascii=False) for at_s, text in events]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def events_of(cast: str) -> list[tuple[float, str]]:
    """Return the seconds and the text of every write of a recording, near ones as one."""
    events: list[tuple[float, str]] = []
    for line in cast.splitlines()[1:]:
        at_s, kind, text = json.loads(line)
        if kind != "o":
            continue
        if events and at_s - events[-1][0] < TOGETHER_S:
            events[-1] = (events[-1][0], events[-1][1] + text)
        else:
            events.append((at_s, text))
    return events


def frames_of(cast: str) -> list[Frame]:
    """Return the pictures of a recording: the run, the head of its report, and the end of it."""
    head = json.loads(cast.partition("\n")[0])
    screen = pyte.HistoryScreen(head["width"], head["height"], history=1000)
    stream = pyte.Stream(screen)
    events = events_of(cast)
    frames: list[Frame] = []
    for (at_s, text), (next_s, _) in zip(events, [*events[1:], events[-1]], strict=True):
        stream.feed(text)
        shown = Frame(_shown(screen), min(next_s - at_s, WAIT_S_MAX))
        if frames and frames[-1].lines == shown.lines:
            shown = Frame(shown.lines, min(frames.pop().shown_s + shown.shown_s, WAIT_S_MAX))
        frames.append(shown)
    last = frames.pop()
    whole = tuple(_cells(line, screen.columns) for line in screen.history.top) + last.lines
    texts = text_of(whole)
    end = max(number for number, text in enumerate(texts) if text) + 1
    start = next(number for number, text in enumerate(texts) if " up against " in text)
    rows = head["height"]
    frames.append(Frame(whole[start : start + rows], HEAD_S))
    frames.append(Frame(whole[max(0, end - rows) : end], TAIL_S))
    return frames


def _shown(screen: pyte.Screen) -> Lines:
    return tuple(_cells(screen.buffer[row], screen.columns) for row in range(screen.lines))


def _cells(line: dict[int, pyte.screens.Char], columns: int) -> tuple[Cell, ...]:
    return tuple(Cell(line[x].data, line[x].fg, line[x].bold) for x in range(columns))


def drawn(lines: Lines, fonts: tuple[ImageFont.FreeTypeFont, ...]) -> Image.Image:
    """Return a picture of what a terminal shows, with the caption below it."""
    width, height = CELL
    size = (COLUMNS * width + 2 * MARGIN, (ROWS + 2) * height + MARGIN)
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    for y, line in enumerate(lines):
        for x, cell in enumerate(line):
            place = (MARGIN + x * width, MARGIN // 2 + y * height)
            _draw_cell(draw, place, cell, fonts[cell.is_bold])
    below = (ROWS + 0.6) * height + MARGIN // 2
    draw.rectangle((0, below, *size), fill=CAPTION_PAPER)
    middle = (below + size[1]) / 2
    draw.text((MARGIN, middle), CAPTION, FAINT, fonts[0], anchor="lm")
    return image


def _draw_cell(draw: ImageDraw.ImageDraw, place: tuple[int, int], cell: Cell, font: ImageFont.FreeTypeFont) -> None:
    (left, top), (width, height), ink = place, CELL, INKS.get(cell.ink, INK)
    right, bottom = left + width - 1, top + height - 1
    if cell.data == "▀":
        draw.rectangle((left, top, right, top + height // 2 - 1), fill=ink)
    elif cell.data in _FROM_LEFT:
        filled = round(width * _FROM_LEFT[cell.data] / 8)
        # Lower than the line, so that the bars of two lines do not touch.
        draw.rectangle((left, top + 3, left + filled - 1, bottom - 2), fill=ink)
    elif cell.data in _FROM_BELOW:
        filled = round(height * _FROM_BELOW[cell.data] / 8)
        draw.rectangle((left, bottom - filled + 1, right, bottom), fill=ink)
    elif cell.data == "▕":
        draw.rectangle((right, top + 3, right, bottom - 2), fill=ink)
    elif cell.data.strip():
        draw.text((left, top + 2), cell.data, ink, font)


def _palette() -> Image.Image:
    """Return the colours of the picture: each ink in eight steps from the paper that it is on."""
    colours = [
        tuple(round(a + (b - a) * step / 7) for a, b in zip(paper, ink, strict=True))
        for paper, inks in ((PAPER, (INK, *INKS.values())), (CAPTION_PAPER, (FAINT,)))
        for ink in inks
        for step in range(8)
    ]
    image = Image.new("P", (1, 1))
    image.putpalette([part for colour in colours for part in colour])
    return image


def digest(cast: Path) -> bytes:
    """Return what a picture says of the recording that it was drawn from."""
    return b"drawn from the recording with SHA-256 " + hashlib.sha256(cast.read_bytes()).hexdigest().encode()


def draw_gif(cast: Path, gif: Path) -> None:
    """Draw a recording as an animated picture."""
    names = ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
    if not all((FONTS / name).exists() for name in names):
        sys.exit(f"error: no font at {FONTS}\nhint: Install fonts-dejavu-core.")
    fonts = tuple(ImageFont.truetype(str(FONTS / name), FONT_PX) for name in names)
    frames = frames_of(cast.read_text(encoding="utf-8"))
    palette = _palette()
    first, *others = (drawn(frame.lines, fonts).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    first.save(
        gif,
        save_all=True,
        append_images=others,
        duration=[round(frame.shown_s * 100) * 10 for frame in frames],
        loop=0,
        optimize=False,
        comment=digest(cast),
    )
    shown_s = sum(frame.shown_s for frame in frames)
    print(f"{gif}: {len(frames)} frames, {shown_s:.0f} s, {gif.stat().st_size / 1e3:,.0f} kB")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="play the lab first")
    parser.add_argument("--cast", type=Path, default=IMAGES / "lab.cast")
    parser.add_argument("--gif", type=Path, default=IMAGES / "lab.gif")
    given = parser.parse_args()
    if given.record:
        write_cast(given.cast)
    draw_gif(given.cast, given.gif)


if __name__ == "__main__":
    main()
