"""How a command that watches something is ended from outside."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """
    Within, a request to end (SIGTERM, or the terminal closing) is answered as Ctrl-C is.

    Otherwise what was mounted or recorded would be lost, and what was started would go on.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {sign: signal.signal(sign, interrupt) for sign in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
