"""Use the law as an arm: the replay of a demand above the limit."""

from conformance.flows import Case, Served
from plimsoll.kernel import replay

SECONDS = 10


def serve(case: Case) -> Served:
    """Replay ten seconds of a demand twice as large as the expected rate, in steps of a second."""
    size = case.load.size_bytes
    ops_per_s = 2 * case.rate / (size if case.is_bytes else 1)
    course = replay([ops_per_s] * SECONDS, size, step_s=1.0, chain=case.chain)
    (stage,) = {int(index) for index in course.binding}
    return Served(
        ops_per_s=float(course.served_ops.sum()) / SECONDS,
        bytes_per_s=float(course.served_bytes.sum()) / SECONDS,
        binds=case.chain[stage].name if stage >= 0 else None,
    )
