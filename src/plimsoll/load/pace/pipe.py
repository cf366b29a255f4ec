"""
Copy a stream at the pace of the allowance, unchanged: `… | plimsoll pace TARGET --cat | psql …`.

Rule 1: bytes are neither read as text nor changed.
Rule 2: memory is one piece, whatever the size of the stream.
"""

import os

from plimsoll.load.pace.pace import Pace

# As much as a pipe of Linux holds (pipe(7)); larger pieces would come in parts of this size anyway.
PIECE_BYTES = 65_536


def copy_paced(pace: Pace, *, from_fd: int, to_fd: int) -> int:
    """
    Copy until the end of the input.

    Args:
        pace: started; each piece waits for it.
        from_fd: descriptor to read.
        to_fd: descriptor to write.

    Returns:
        Bytes copied.

    Raises:
        BrokenPipeError: the reader has gone.
        OSError: reading or writing failed.
    """
    copied = 0
    while piece := os.read(from_fd, PIECE_BYTES):
        pace.wait(len(piece))
        left = memoryview(piece)
        while left:
            left = left[os.write(to_fd, left) :]
        copied += len(piece)
    return copied
