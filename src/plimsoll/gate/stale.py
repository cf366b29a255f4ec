"""
What gates left behind that were killed together with their keepers, and how it is taken away.

Rule 1: a record goes only after its mounts: as long as a mount of it is there, the next start tries again.
Rule 2: what lives is left alone: an owner, a daemon that answers, and a mount that another gate has.
"""

import contextlib
import re
import subprocess
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.gate import place as gate_place
from plimsoll.gate.control import GateControl, Home, is_alive, known_gates
from plimsoll.gate.place import MountAnswer, has_ended, started_ticks

# A folder that was made for a gate which was killed before it wrote down what it was.
_MADE_BY = re.compile(r"gate-(\d+)-")

_LOOP = re.compile(r"/dev/(loop\d+)")


def clean_stale() -> list[Path]:
    """
    Take away what gates left behind that were killed together with their keeper.

    Returns:
        The mounts that were taken away.
    """
    taken: list[Path] = []
    controls = known_gates()
    living = [_home(control) for control in controls if is_alive(control)]
    # The same folder may have been mounted anew by a gate that lives.
    held = {place for home in living if home is not None for place in _places(home)}
    for control in controls:
        home = _home(control)
        # An owner without a daemon may just be starting one.
        if home is None or is_alive(control) or _has_owner(home):
            continue
        places = [place for place in _places(home) if place not in held]
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
    """Return the mounts of a gate, the uppermost first."""
    return list(dict.fromkeys((Path(home.mount), Path(home.daemon_mount))))


def _has_owner(home: Home) -> bool:
    """Return whether the process that started a gate runs; another one may have got its number since."""
    if has_ended(home.owner_pid):
        return False
    return home.owner_ticks in (None, started_ticks(home.owner_pid))


def _is_ours(place: Path, home: Home) -> bool:
    """Return whether a mount of this gate is still at a place."""
    return gate_place.is_gate_at(place) or _loop_at(place, home) is not None


def _take_away(place: Path, home: Home) -> bool:
    """Take a mount away whose daemon is gone; whether one was."""
    loop = _loop_at(place, home)
    if loop is not None:
        # In the reverse order of setting up: a device with a file system on it is not let go.
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
    # Whoever touches it waits for ever, and so would unmounting.
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
    # Of a detached mount only the rest of the path is told.
    ours = image.startswith(f"{home.daemon_mount}/") or image in {"", "/disk.img"}
    return name[0] if ours else None


def _remove_unwritten(known: set[Path]) -> None:
    for folder in gate_place.gates_folder().iterdir():
        made_by = _MADE_BY.match(folder.name)
        if folder not in known and made_by is not None and has_ended(int(made_by[1])):
            gate_place.remove_home(folder)
