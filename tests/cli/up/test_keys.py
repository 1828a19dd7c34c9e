"""`actorlet up` in a terminal: its keys, and what it leaves of the terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PATIENCE_S = 120.0
WEB = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: busybox}]}\n"


def read_until(terminal: int, phrase: bytes) -> bytes:
    """What the program shows, up to that phrase."""
    seen, end = b"", time.monotonic() + PATIENCE_S
    while phrase not in seen:
        left = end - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            raise AssertionError(seen[-2000:])
        try:
            seen += os.read(terminal, 65536)
        except OSError:  # the program has closed it
            raise AssertionError(seen[-2000:]) from None
    return seen


@pytest.mark.parametrize("key", [b"q", b"\x03"], ids=["q", "Ctrl-C"])
def test_a_key_ends_it_with_status_0_and_the_terminal_is_as_before(key: bytes, tmp_path: Path) -> None:
    (tmp_path / "web.yaml").write_text(WEB)
    own, its = pty.openpty()
    before = termios.tcgetattr(its)
    command = [sys.executable, "-m", "actorlet", "up", "--manifests", str(tmp_path), "--no-apiserver"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    # A session of its own, with the terminal as its own: what is pressed there concerns nobody else.
    program = subprocess.Popen(
        [sys.executable, "-c", _LEADER, *command], stdin=its, stdout=its, stderr=its, cwd=ROOT, env=environment
    )
    try:
        read_until(own, b"says why a pod does not run")
        os.write(own, b"?")
        read_until(own, b"shows or hides all actors")
        os.write(own, key)
        while program.poll() is None:
            if select.select([own], [], [], 0.2)[0]:
                os.read(own, 65536)
        assert program.returncode == 0
        assert termios.tcgetattr(its) == before
    finally:
        program.kill()
        program.wait()
        os.close(own)
        os.close(its)


_LEADER = """
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
