"""All processes below one of ours are killed at once; ports of a server that is down are kept."""

import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from plimsoll_lab.servers.processes import below, kill_below
from plimsoll_lab.servers.server import keep_ports

# A process that adopts orphans, a child of it, and grandchildren that a thread has started in sessions of their own.
TREE = textwrap.dedent("""
    import ctypes, subprocess, sys, threading, time
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    code = '''
    import subprocess, threading, time
    def start():
        for _ in range(2):
            subprocess.Popen(["sleep", "600"], start_new_session=True)
        print("ready", flush=True)
        time.sleep(600)
    threading.Thread(target=start).start()
    '''
    import textwrap
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)])
    sys.stdin.read()
""")


def test_no_process_is_left_but_the_first():
    """Those that a thread has started, and those of other sessions, too."""
    with subprocess.Popen([sys.executable, "-c", TREE], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert b"ready\n" == first.stdout.readline()
        processes = [psutil.Process(pid) for pid in below(first.pid)]
        kill_below(first.pid)
        ended = [_is_over(process) for process in processes]
        status = first.poll()

    assert 3 == len(processes)
    assert all(ended)
    assert status is None


def _is_over(process: psutil.Process) -> bool:
    """Whether it ends; nobody takes its status here, so a zombie has ended."""
    while True:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True


def test_what_is_gone_has_nothing_below_it():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()

    assert set() == below(gone.pid)
    kill_below(gone.pid)


def test_a_port_is_kept_and_refuses_clients():
    """No connection gets it, but the server that comes back does; a port that is taken is not kept."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert [] == keep_ports([port])
    (kept,) = keep_ports([port])
    with kept:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=5)
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)) as server:
        assert port == server.getsockname()[1]


def test_the_kernel_lists_children():
    """Otherwise nothing would be found, and nothing killed."""
    assert Path("/proc/thread-self/children").exists()
