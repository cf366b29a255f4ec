"""Write documents to the engine until it has all of them, for commands that have nothing else to do meanwhile."""

import time
from collections.abc import Sequence

from search_service.engine import Engine, EngineError, Outcome, Write
from search_service.errors import ServiceError, UnavailableError

PATIENCE_S = 60.0
"""For so long an engine that is busy or away is asked again."""
WAIT_FIRST_S, WAIT_MOST_S = 0.2, 5.0


def write_all(engine: Engine, writes: Sequence[Write]) -> list[Outcome]:
    """
    Write documents, and return what became of each; a busy engine gets smaller requests, later.

    Raises:
        ServiceError: the engine refused a document for good.
        UnavailableError: it took none for a minute; the same command goes on where it was.
    """
    done: list[Outcome] = []
    left, size = list(writes), max(1, len(writes))
    end, wait = time.monotonic() + PATIENCE_S, WAIT_FIRST_S
    while left:
        try:
            outcomes = engine.bulk(left[:size])
        except (EngineError, UnavailableError) as error:
            # 413: the request was too large, and half of it may not be.
            if isinstance(error, EngineError) and not error.is_busy and error.status != 413:
                raise ServiceError(str(error)) from None
            reason, outcomes = str(error), []
        else:
            refused = [o for o in outcomes if not (o.is_done or o.is_busy)]
            if refused:
                raise ServiceError(f"the search engine refused product {refused[0].write.id}: {refused[0].reason}")
            reason = "it asks for fewer writes"
        taken = [o for o in outcomes if o.is_done]
        done += taken
        if taken:
            end, wait = time.monotonic() + PATIENCE_S, WAIT_FIRST_S
            left = [o.write for o in outcomes if not o.is_done] + left[size:]
            continue
        if time.monotonic() > end:
            raise UnavailableError(
                f"the search engine did not take documents for {PATIENCE_S:.0f} s: {reason}",
                "Run the command again; it goes on where it was.",
            )
        time.sleep(wait)
        wait, size = min(WAIT_MOST_S, 2 * wait), max(1, size // 2)
    return done
