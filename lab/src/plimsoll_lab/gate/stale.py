"""
Remove what gates left behind when they were killed together with their keepers.

Rule 1: a record is removed only after its mounts; while one of them is still there, the next start tries again.
Rule 2: nothing in use is touched: a live owner, a daemon that answers, a mount of another gate.
"""

import contextlib
import re
import subprocess
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll_lab.gate import place as gate_place
from plimsoll_lab.gate.control import GateControl, Home, is_alive, known_gates
from plimsoll_lab.gate.place import MountAnswer, has_ended, started_ticks

# A folder of a gate that was killed before it wrote gate.json; its name has the process id.
_MADE_BY = re.compile(r"gate-(\d+)-")

_LOOP = re.compile(r"/dev/(loop\d+)")


def clean_stale() -> list[Path]:
    """
    Remove what gates left behind when they were killed together with their keepers.

    Returns:
        The mounts that were removed.
    """
    taken: list[Path] = []
    controls = known_gates()
    living = [_home(control) for control in controls if is_alive(control)]
    # A live gate may have mounted the same folder again.
    in_use = {place for home in living if home is not None for place in _places(home)}
    for control in controls:
        home = _home(control)
        # An owner without a daemon may be about to start one.
        if home is None or is_alive(control) or _has_owner(home):
            continue
        places = [place for place in _places(home) if place not in in_use]
        for place in places:
            with contextlib.suppress(PlimsollError):
                taken += [place] if _take_away(place, home) else []
        if not any(_is_ours(place, home) for place in places):
            gate_place.remove_home(control.folder)
    _remove_unwritten({control.folder for control in controls})
    return taken


def _home(control: GateControl) -> Home | None:
    with contextlib.suppress(PlimsollError):
        return control.home
    return None


def _places(home: Home) -> list[Path]:
    """Return the mounts of a gate, the topmost first."""
    return list(dict.fromkeys((Path(home.mount), Path(home.daemon_mount))))


def _has_owner(home: Home) -> bool:
    """Return whether the gate's owner still runs, and not another process with a reused id."""
    if has_ended(home.owner_pid):
        return False
    return home.owner_ticks in (None, started_ticks(home.owner_pid))


def _is_ours(place: Path, home: Home) -> bool:
    """Return whether this gate is still mounted at a place."""
    return gate_place.is_gate_at(place) or _loop_at(place, home) is not None


def _take_away(place: Path, home: Home) -> bool:
    """Detach a mount whose daemon is gone; return whether that worked."""
    loop = _loop_at(place, home)
    if loop is not None:
        # In reverse order of the setup: losetup cannot detach a device that is mounted.
        for argv in (("umount", "-l", str(place)), ("losetup", "-d", loop)):
            tool = gate_place.find_tool(argv[0])
            if tool is not None:
                subprocess.run([tool, *argv[1:]], capture_output=True, check=False)  # noqa: S603
        return _loop_at(place, home) is None
    if not gate_place.is_gate_at(place):
        return False
    answer = gate_place.answer_of(place)
    if answer is MountAnswer.SERVED:
        return False
    # A mount without an answer blocks every access, unmounting included, until its connection is aborted.
    if answer is MountAnswer.NONE:
        gate_place.abort(place)
    gate_place.detach(place)
    return not gate_place.is_gate_at(place)


def _loop_at(place: Path, home: Home) -> str | None:
    """Return the loop device over this gate's image that is mounted at a place; None for none."""
    found = gate_place.mounted_at(place)
    name = _LOOP.fullmatch(found.device) if found is not None else None
    if name is None or home.setup.mode != "block":
        return None
    image = ""
    with contextlib.suppress(OSError):
        image = Path(f"/sys/block/{name[1]}/loop/backing_file").read_text().strip()
    # For a detached mount the kernel reports only the rest of the path.
    ours = image.startswith(f"{home.daemon_mount}/") or image in {"", "/disk.img"}
    return name[0] if ours else None


def _remove_unwritten(known: set[Path]) -> None:
    for folder in gate_place.gates_folder().iterdir():
        made_by = _MADE_BY.match(folder.name)
        if folder not in known and made_by is not None and has_ended(int(made_by[1])):
            gate_place.remove_home(folder)
