"""What a process of a fleet asks of the C library."""

import pytest

from plimsoll.fleet import memory


class Library:
    """A C library that keeps what it is asked."""

    def __init__(self, asked: list[tuple[int, int]]) -> None:
        def mallopt(name: int, value: int) -> int:
            asked.append((name, value))
            return 1

        self.mallopt = mallopt


def test_freed_memory_is_kept_by_three_settings_of_glibc(monkeypatch):
    """M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD of mallopt(3), each within an int."""
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name: Library(asked))

    memory.keep_freed_memory()

    assert {-3, -1, -2} == {name for name, _ in asked}
    assert all(0 < value < 2**31 for _, value in asked)


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_without_such_a_library_nothing_is_done(monkeypatch, error):
    """musl and macOS have no mallopt, and Windows no library of this name."""

    def missing(_name):
        raise error

    monkeypatch.setattr(memory.ctypes, "CDLL", missing)
    memory.keep_freed_memory()
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda _name: object())
    memory.keep_freed_memory()
