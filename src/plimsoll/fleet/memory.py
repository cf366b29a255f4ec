"""
Memory of a process that reads one bucket after another, and needs as much of it each time.

Rule 1: nothing here changes a result; where the C library offers no such choice, nothing is done.
"""

import ctypes

# Numbers of `mallopt` in glibc's malloc.h.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_TOP_PAD_BYTES = 64 * 2**20
_MOST_BYTES = 2**31 - 1
"""The largest number that `mallopt` takes."""


def keep_freed_memory() -> None:
    """
    Let this process keep what it frees until it ends.

    A series of two weeks is an array of 160 kB. By default glibc gives arrays of that size back to the system
    and asks for them again, page by page: as much as a fifth of the time of a run. Arrow has an allocator of
    its own, which keeps most of what it frees.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return  # musl, macOS
    mallopt.argtypes, mallopt.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
    mallopt(_MMAP_THRESHOLD, _MOST_BYTES // 2)
    mallopt(_TRIM_THRESHOLD, _MOST_BYTES)
    mallopt(_TOP_PAD, _TOP_PAD_BYTES)
