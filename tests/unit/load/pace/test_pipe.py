"""A paced pipe changes nothing."""

import os
import threading

from paced import T3, slow_truth
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.pace import Pace
from plimsoll.load.pace.pipe import copy_paced


def test_bytes_come_out_as_they_went_in():
    """Of any value, in any pieces, with an end without a newline."""
    data = bytes(range(256)) * 3000 + b"the end"
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pace = Pace(PaceController(T3, PaceTerms()), read_slow=lambda: slow_truth(end_s=0))
    received = bytearray()

    def feed() -> None:
        with os.fdopen(write_in, "wb") as file:
            file.write(data)

    def drain() -> None:
        with os.fdopen(read_out, "rb") as file:
            received.extend(file.read())

    threads = [threading.Thread(target=one) for one in (feed, drain)]
    for thread in threads:
        thread.start()
    with pace:
        copied = copy_paced(pace, from_fd=read_in, to_fd=write_out)
    os.close(write_out)
    os.close(read_in)
    for thread in threads:
        thread.join()

    assert len(data) == copied == pace.sent_bytes
    assert data == bytes(received)
