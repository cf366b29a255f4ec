"""
Run a program under the filters of a unit, as systemd would: `python confined.py UNIT PROGRAM ARGUMENTS…`.

Applies SystemCallFilter=, SystemCallErrorNumber=, RestrictAddressFamilies= and NoNewPrivileges= with libseccomp, which
apt and systemd bring. Nothing else of the unit is applied.
"""

import ctypes
import errno
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

ALLOW = 0x7FFF0000
ERRNO = 0x00050000
EQUAL = 4
PR_SET_NO_NEW_PRIVS = 38


class Comparison(ctypes.Structure):
    """What libseccomp compares an argument of a system call with."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


def setting(unit: str, name: str) -> list[str]:
    """Values of a setting, one for each line of it."""
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def system_calls(name: str) -> set[str]:
    """The calls of a set of systemd, with those of the sets in it; or the one call."""
    if not name.startswith("@"):
        return {name}
    shown = subprocess.run(
        ["systemd-analyze", "syscall-filter", "--no-pager", name], capture_output=True, text=True, check=True
    ).stdout
    found: set[str] = set()
    for line in shown.splitlines()[1:]:
        if (word := line.strip()) and not word.startswith("#"):
            found |= system_calls(word)
    return found


def allowed(unit: str) -> set[str]:
    """The calls that a service of the unit may make; systemd always allows `@default`."""
    found = system_calls("@default")
    for value in setting(unit, "SystemCallFilter"):
        words = {call for word in value.lstrip("~").split() for call in system_calls(word)}
        found = found - words if value.startswith("~") else found | words
    return found


def confine(unit: str) -> None:
    """Confine this process, and what it starts, for good."""
    calls = allowed(unit)
    families = [getattr(socket, name) for name in setting(unit, "RestrictAddressFamilies")[0].split()]
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    refused = ERRNO | getattr(errno, setting(unit, "SystemCallErrorNumber")[0])
    state = ctypes.c_void_p(library.seccomp_init(refused))
    for call in calls - {"socket"}:
        number = library.seccomp_syscall_resolve_name(call.encode())
        # Calls of other processors have no number here.
        if number >= 0:
            assert library.seccomp_rule_add_array(state, ALLOW, number, 0, None) == 0
    number = library.seccomp_syscall_resolve_name(b"socket")
    for family in families:
        comparison = Comparison(0, EQUAL, family, 0)
        added = library.seccomp_rule_add_array(state, ALLOW, number, 1, ctypes.byref(comparison))
        assert added == 0
    assert ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert library.seccomp_load(state) == 0


if __name__ == "__main__":
    confine(Path(sys.argv[1]).read_text(encoding="utf-8"))
    os.execv(sys.argv[2], sys.argv[2:])
