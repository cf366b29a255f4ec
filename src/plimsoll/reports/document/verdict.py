"""The display of a verdict: a sign with a word, and a tone that repeats it."""

from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.document.parts import Cell, Tone
from plimsoll.reports.render.words import VERDICT_SIGNS, VERDICT_WORDS

VERDICT_TONES = {
    Verdict.BINDS: Tone.BAD,
    Verdict.NEAR: Tone.NEAR,
    Verdict.SLACK: Tone.GOOD,
    Verdict.UNKNOWN: Tone.UNKNOWN,
}


def verdict_cell(verdict: Verdict) -> Cell:
    """Return the cell of a verdict; a terminal has `BINDS` in capitals, where there may be no colour."""
    sign, word = VERDICT_SIGNS[verdict], VERDICT_WORDS[verdict]
    loud = f"{sign} {word.upper()}" if verdict is Verdict.BINDS else None
    return Cell(f"{sign} {word}", tone=VERDICT_TONES[verdict], brief=loud)
