"""Runs inside a machine: takes orders from the host over a serial line.

The host puts an order into the shared directory, `orders/N/script`, and writes `order N`. The script's output goes to
`stdout` and `stderr` beside it. Its end is told as `done N STATUS`. Orders run beside each other.
"""

from __future__ import annotations

import os
import subprocess
import threading
import tty
from collections.abc import Callable
from io import FileIO
from pathlib import Path

SHARED = Path("/host")


def main() -> None:
    words = dict(word.split("=", 1) for word in Path("/proc/cmdline").read_text().split() if "=" in word)
    _mount(words["machine.kind"], words.get("machine.shared", ""))
    line = os.open(words["machine.line"], os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    said = threading.Lock()

    def say(text: str) -> None:
        with said:
            os.write(line, text.encode() + b"\n")

    say("ready")
    with FileIO(os.dup(line)) as heard:
        for order in iter(lambda: _line_of(heard), b""):
            word, _, number = order.decode(errors="replace").strip().partition(" ")
            if word == "order":
                threading.Thread(target=_run, args=(number, say), daemon=True).start()
            elif word == "hello":
                say("ready")


def _line_of(heard: FileIO) -> bytes:
    got = b""
    while not got.endswith(b"\n"):
        byte = heard.read(1)
        if not byte:
            return b""
        got += byte
    return got


def _mount(kind: str, shared: str) -> None:
    SHARED.mkdir(exist_ok=True)
    if SHARED.is_mount():
        return
    what = {
        "uml": ["-t", "hostfs", "none", "-o", shared],
        "qemu": ["-t", "9p", "-o", "trans=virtio,version=9p2000.L,msize=262144", "host"],
    }[kind]
    subprocess.run(["mount", *what, str(SHARED)], check=True)


def _run(number: str, say: Callable[[str], None]) -> None:
    place = SHARED / "orders" / number
    with (place / "stdout").open("wb") as out, (place / "stderr").open("wb") as errors:
        done = subprocess.run(
            ["bash", str(place / "script")],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            check=False,
            cwd="/root",
        )
    say(f"done {number} {done.returncode}")


if __name__ == "__main__":
    main()
