"""A whole machine, started inside a test.

    with machine(root, memory="2G") as one:
        one.run("systemctl start actorlet")
        one.cut_power()
        one.boot()

Orders go over a serial line and their output comes back as files in the shared directory (`guest/orders.py`), so a
machine needs no network and no password. Every failure shows the end of the console's log.

A machine ends with the block, whatever happened in it: the emulator runs in a process namespace of its own, so that
nothing that it has started outlives it.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.machine import disks
from tests.machine.emulators import Hardware, command_for
from tests.machine.one_cpu import a_cpu_of_its_own
from tests.machine.root import CACHE, Root

SHARED = Path("/host")
BOOT_S = 600.0
ORDER_S = 600.0
"""Limits, for a machine whose host is busy. Nothing is judged by them."""
_KILL_GRACE_S = 60.0
_WRONG_CLOCK = """[Unit]
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'date -s @$(( $(date +%%s) + {seconds} ))'

[Install]
WantedBy=sysinit.target
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\x07]")


class MachineError(AssertionError):
    """A machine did not do what it was told; the text has its console's last lines."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    output: str
    errors: str


@contextmanager
def machine(
    root: Root,
    *,
    cpus: int | None = None,
    numa: int | None = None,
    memory: str = "4G",
    disk: str = "8G",
    swap: str | None = "1G",
    more_disks: tuple[str, ...] = (),
    kernel_words: tuple[str, ...] = (),
    link: str = "",
) -> Iterator[Machine]:
    """A booted machine of the kind of `root`, gone afterwards.

    `kernel_words` are told to its kernel at its first boot. `link`: an interface of this host, whose other end it has
    as `vec0` (`tests.machine.link`; user-mode Linux alone).

    CPUs and NUMA nodes are 4 and 2 in QEMU; user-mode Linux has one of each, and refuses more with ValueError. The swap
    is a disk that nothing turns on: `swapon -L swap` does. `more_disks` are empty ones, of these sizes.
    """
    most = (1, 1) if root.kind == "uml" else (4, 2)
    wanted = (cpus or most[0], numa or most[1])
    if root.kind == "uml" and wanted != most:
        raise ValueError("user-mode Linux has one CPU and one NUMA node: ask for a machine of kind `qemu`")
    directory = Path(tempfile.mkdtemp(prefix="actorlet-machine-"))
    try:
        first = directory / "root.img"
        disks.copy_of(root.image, first, disk)
        paths = [first]
        if swap is not None:
            paths.append(directory / "swap.img")
            disks.swap_on(paths[-1], swap)
        for index, size in enumerate(more_disks):
            paths.append(directory / f"disk{index}.img")
            disks.empty(paths[-1], size)
        with ExitStack() as held:
            on_a_cpu = held.enter_context(a_cpu_of_its_own(CACHE)) if root.kind == "uml" else []
            made = Machine(root, directory, wanted, memory, tuple(paths), on_a_cpu, link)
            try:
                made.boot(*kernel_words)
                yield made
            finally:
                made.cut_power()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class Machine:
    """One machine: its disks stay while it boots and ends."""

    def __init__(
        self,
        root: Root,
        directory: Path,
        cpus_and_nodes: tuple[int, int],
        memory: str,
        paths: tuple[Path, ...],
        on_a_cpu: list[str],
        link: str,
    ) -> None:
        self.kind = root.kind
        self.shared = directory / "shared"
        """The directory that the machine sees as `/host`."""
        self._root, self._cpus, self._memory, self._disks = root, cpus_and_nodes, memory, paths
        self._on_a_cpu = on_a_cpu
        self._always = (f"vec0:transport=tap,ifname={link}",) if link else ()
        self._console = directory / "console.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._heard = b""
        self._ended: dict[int, int] = {}
        self._orders = 0
        (self.shared / "orders").mkdir(parents=True)

    # --- life

    def boot(self, *kernel_words: str, wait: bool = True) -> None:
        """Turn it on, and return when systemd has started everything; with `wait` False, when it takes orders.

        `kernel_words` are told to the kernel.
        """
        assert not self.alive, "it runs already"
        ours, theirs = socket.socketpair()
        with theirs, self._console.open("ab") as console:
            words = (*self._always, *kernel_words)
            hardware = Hardware(
                *self._cpus, self._memory, self._disks, self.shared, self._console, theirs.fileno(), words
            )
            # `sh` is the first process of the namespace: when it is killed, all others are.
            start = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]
            self._process = subprocess.Popen(
                [*self._on_a_cpu, *start, *command_for(self._root, hardware)],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PATH": f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"},
            )
        self._line, self._heard = ours, b""
        self._await_line("ready", BOOT_S)
        if wait:
            self.run("systemctl is-system-running --wait || true", limit_s=BOOT_S)

    def cut_power(self) -> None:
        """SIGKILL. What the machine had not written to its disks is lost."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_KILL_GRACE_S)
            self._process = None
        if self._line is not None:
            self._line.close()
            self._line = None

    def power_off(self) -> None:
        """Let systemd end it."""
        with contextlib.suppress(MachineError):
            self.run("systemctl poweroff --no-block")
        assert self._process is not None
        try:
            self._process.wait(BOOT_S)
        except subprocess.TimeoutExpired:
            raise self._failure(f"does not power off within {BOOT_S:g} s") from None
        self.cut_power()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # --- orders

    def run(self, script: str, *, limit_s: float = ORDER_S, may_fail: bool = False) -> str:
        """What a script for bash prints, run as root. Raises `MachineError` when it fails."""
        done = self.tried(script, limit_s=limit_s)
        if done.status != 0 and not may_fail:
            raise self._failure(f"`{script}` ended with {done.status}:\n{done.output[-3000:]}{done.errors[-3000:]}")
        return done.output

    def tried(self, script: str, *, limit_s: float = ORDER_S) -> Done:
        """The same, whatever it ends with."""
        number = self.begin(script)
        end = time.monotonic() + limit_s
        while number not in self._ended:
            self._listen(end, f"`{script}`")
        return Done(self._ended.pop(number), self._said(number, "stdout"), self._said(number, "stderr"))

    def begin(self, script: str) -> int:
        """Start a script and do not wait; the number of the order."""
        self._orders += 1
        place = self.shared / "orders" / str(self._orders)
        place.mkdir()
        (place / "script").write_text(script)
        self._send(f"order {self._orders}\n")
        return self._orders

    def _said(self, number: int, stream: str) -> str:
        return (self.shared / "orders" / str(number) / stream).read_text(errors="replace")

    # --- files

    def put(self, path: str, content: str | bytes) -> None:
        """Write a file, with its directories."""
        self._orders += 1
        held = self.shared / f"file-{self._orders}"
        held.write_bytes(content.encode() if isinstance(content, str) else content)
        self.run(f"install -D -m 644 {SHARED / held.name} {path}")
        held.unlink()

    def read(self, path: str) -> str:
        """A file of the machine."""
        return self.run(f"cat {path}")

    def journal(self, unit: str | None = None) -> str:
        """What the journal says of this boot, of one unit or of all."""
        return self.run(f"journalctl --no-pager -b -o short-monotonic {f'-u {unit}' if unit else ''}")

    def until(self, condition: str, what: str, limit_s: float = 240.0, pause_s: float = 0.5) -> None:
        """Return once a script succeeds. It is tried inside, with pauses.

        A look that took long is followed by a longer pause: looks take a quarter of the machine's CPU at most. No
        pause is longer than half a minute.
        """
        loop = (
            f"end=$((SECONDS + {int(limit_s)})); while began=$SECONDS; ! {{ {condition}\n}} >/dev/null 2>&1; do "
            "[ $SECONDS -lt $end ] || exit 9; took=$((SECONDS - began)); "
            f"sleep {pause_s:g} $((took < 10 ? 3 * took : 30)); done"
        )
        done = self.tried(loop, limit_s=limit_s * 2 + 60)
        if done.status != 0:
            raise self._failure(f"not within {limit_s:g} s: {what}")

    # --- what may befall it

    def move_clock(self, seconds: int) -> None:
        """Set the clock forward, or back."""
        self.run(f"date -s @$(( $(date +%s) + {seconds} ))")

    def boot_with_clock(self, seconds: int) -> None:
        """From the next boot on it starts with a clock that is so far ahead, or behind."""
        self.put("/etc/systemd/system/wrong-clock.service", _WRONG_CLOCK.format(seconds=seconds))
        self.run("systemctl daemon-reload; systemctl enable wrong-clock; sync")

    def fill_disk(self, directory: str = "/", leave: str = "0") -> str:
        """Take all space that root may take, but `leave`; the path of the file that takes it."""
        path = f"{directory.rstrip('/')}/filler"
        free = f"$(( $(stat -f -c '%f * %S' {directory}) - {disks.bytes_of(leave)} ))"
        # fallocate takes blocks for its own tables as well: the rest is written until nothing fits.
        self.run(f"fallocate -l {free} {path} || true")
        if disks.bytes_of(leave) == 0:
            self.run(f"cat /dev/zero >> {path} 2>/dev/null; true")
        return path

    def pull_disk(self, index: int) -> None:
        """Take a disk away while it is in use; 0 is the root. Raises `MachineError` if it stays."""
        name = {"uml": f"ubd{chr(ord('a') + index)}", "qemu": f"vd{chr(ord('a') + index)}"}[self.kind]
        if self.kind == "uml":
            raise ValueError(
                f"user-mode Linux does not let go of {name} while it is in use: use a machine of kind `qemu`"
            )
        self.run(f"echo 1 > /sys/block/{name}/device/../remove")
        self.until(f"! test -e /sys/block/{name}", f"{name} goes")

    # --- the line

    def _send(self, text: str) -> None:
        if self._line is None or not self.alive:
            raise self._failure("it does not run")
        self._line.sendall(text.encode())

    def _await_line(self, word: str, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while self._listen(end, f"the word `{word}`") != word:
            pass

    def _listen(self, end: float, awaited: str) -> str:
        """Take one line; keep it if it tells an end."""
        assert self._line is not None
        while b"\n" not in self._heard:
            left = end - time.monotonic()
            if left <= 0:
                raise self._failure(f"no answer in time to {awaited}")
            if not self.alive:
                raise self._failure(f"it ended while it was to answer to {awaited}")
            if select.select([self._line], [], [], min(left, 1.0))[0]:
                got = self._line.recv(4096)
                if not got:
                    raise self._failure(f"its line closed while it was to answer to {awaited}")
                self._heard += got
        line, _, self._heard = self._heard.partition(b"\n")
        words = line.decode(errors="replace").split()
        if len(words) == 3 and words[0] == "done" and words[1].isdigit():
            self._ended[int(words[1])] = int(words[2])
        return words[0] if words else ""

    def _failure(self, why: str) -> MachineError:
        said = _ESCAPES.sub("", self._console.read_text(errors="replace")) if self._console.exists() else ""
        log = [line for line in said.splitlines() if line.strip()]
        return MachineError(f"the {self.kind} machine: {why}\n--- its console:\n" + "\n".join(log[-40:]))
