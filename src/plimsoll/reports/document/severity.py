"""The display of a severity: a sign next to the word, and a tone that repeats it."""

from plimsoll.model.severity import Severity
from plimsoll.reports.document.parts import Tone

SEVERITY_SIGNS: dict[Severity, str] = {"critical": "▲", "warning": "◆", "note": "●"}

SEVERITY_TONES: dict[Severity, Tone] = {"critical": Tone.BAD, "warning": Tone.NEAR, "note": Tone.PLAIN}
