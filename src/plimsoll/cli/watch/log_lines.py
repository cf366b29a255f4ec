"""Events as lines on standard error: logfmt, or one JSON object for each."""

import json
import sys
from collections.abc import Callable
from contextlib import suppress

from plimsoll.units import format_time
from plimsoll.watch.delivery import Log


def logger(form: str, now_s: Callable[[], float]) -> Log:
    """
    Return a function that writes an event and its fields as one line.

    Args:
        form: `logfmt` or `json`.
        now_s: the wall clock.
    """

    def log(event: str, **fields: object) -> None:
        every: dict[str, object] = {"time": format_time(now_s()), "event": event}
        every |= {name: value for name, value in fields.items() if value not in ("", None)}
        text = json.dumps(every, ensure_ascii=False) if form == "json" else logfmt(every)
        # Nobody may read it any more, or its disk may be full; the watch goes on.
        with suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    return log


def logfmt(fields: dict[str, object]) -> str:
    """Return fields as `name=value`, with quotes where a value needs them."""
    return " ".join(f"{name}={_value(value)}" for name, value in fields.items())


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    is_plain = text and not any(c in text for c in ' "=\n\r\t') and text.isprintable()
    return text if is_plain else json.dumps(text, ensure_ascii=False)
