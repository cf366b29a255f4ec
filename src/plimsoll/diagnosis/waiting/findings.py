"""The finding about waiting that no ceiling explains."""

from plimsoll.model.diagnosis import Finding
from plimsoll.model.waiting import UnexplainedWaiting, WaitingCause, longest_of, waiting_s_of
from plimsoll.units import format_bytes, format_clock, format_duration, format_latency, format_ratio, number

CODE = "UnexplainedStorageWaiting"
# The finding lists the checks of the likeliest causes; all causes have their own list.
CHECKS_SHOWN = 3


def waiting_findings(waiting: tuple[UnexplainedWaiting, ...], causes: tuple[WaitingCause, ...]) -> tuple[Finding, ...]:
    """Return one finding for all unexplained waiting of a window; none where there was none."""
    if not waiting:
        return ()
    return (
        Finding(
            code=CODE,
            severity="warning",
            title=(
                f"latency was {number(longest_of(waiting).times, 2)} times normal for "
                f"{format_duration(waiting_s_of(waiting))}; no documented limit explains it"
            ),
            text=_text(waiting),
            moves=tuple(cause.check for cause in causes[:CHECKS_SHOWN]),
        ),
    )


def _text(waiting: tuple[UnexplainedWaiting, ...]) -> str:
    longest = longest_of(waiting)
    latency = format_latency(longest.latency_s)
    first = f"Latency was {latency} instead of {format_latency(longest.latency_reference_s)}"
    if longest.queue_depth is not None:
        first += f", and the queue depth was {number(longest.queue_depth, 2)}"
    sentences = [first]
    if len(waiting) > 1:
        sentences.append(f"The longest of {len(waiting)} intervals began {format_clock(longest.start_s)}")
    else:
        sentences.append(f"It began {format_clock(longest.start_s)}")
    if longest.shares:
        share = longest.shares[0]
        sentences.append(f"The mean rate was at most {format_ratio(share.ratio)} of a ceiling")
    if longest.io_size_bytes is not None:
        sentences.append(
            f"The I/O size of {format_bytes(longest.io_size_bytes)} does not explain it: normal latency "
            "includes that transfer"
        )
    return ". ".join(sentences) + "."
