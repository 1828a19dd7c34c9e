"""How a machine of each kind is started: the command, and what the kernel is told.

A machine has its root on the first disk, the others after it, a console for its log, one serial line for orders, and
the shared directory at `/host`. The line is an open socket of the caller. It has no network.

User-mode Linux has one CPU and no NUMA, whatever the host has. QEMU uses KVM where that works. The tests run on
user-mode Linux; a machine of QEMU has not been booted by them yet.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.machine.disks import bytes_of
from tests.machine.root import Root

_KVM_CREATE_VM = 0xAE01


@dataclass(frozen=True)
class Hardware:
    """What a machine is made of: `disks` are files, the root first; `memory` is a size, such as 4G."""

    cpus: int
    numa: int
    memory: str
    disks: tuple[Path, ...]
    shared: Path
    console: Path
    line: int
    """File descriptor of a connected socket."""
    kernel_words: tuple[str, ...] = field(default=())


def command_for(root: Root, hardware: Hardware) -> list[str]:
    """The program and its arguments; its standard output is the console of a `uml` machine."""
    return _uml(hardware) if root.kind == "uml" else _qemu(root, hardware)


def _uml(hardware: Hardware) -> list[str]:
    disks = [f"ubd{index}={path}" for index, path in enumerate(hardware.disks)]
    return [
        *("linux.uml", f"mem={hardware.memory}", *disks, "root=/dev/ubda", "rw"),
        *("con0=null,fd:1", "con=null", f"ssl0=fd:{hardware.line}", "ssl=null"),
        *("SYSTEMD_COLORS=0", "machine.kind=uml", f"machine.shared={hardware.shared}", "machine.line=/dev/ttyS0"),
        *hardware.kernel_words,
    ]


def _qemu(root: Root, hardware: Hardware) -> list[str]:
    words = "root=/dev/vda rw console=ttyS0 SYSTEMD_COLORS=0 net.ifnames=0 machine.kind=qemu machine.line=/dev/ttyS1"
    # Without KVM, on a busy host, containerd takes longer than systemd's own 90 s.
    words += " systemd.default_timeout_start_sec=1800"
    command = ["qemu-system-x86_64", "-machine", "q35", "-nodefaults", "-no-user-config", "-display", "none"]
    if kvm_works():
        command += ["-accel", "kvm", "-cpu", "host"]
    else:
        # With threads, QEMU 7.2 crashed the kernel.
        command += ["-accel", "tcg,thread=single", "-cpu", "max"]
    command += ["-m", hardware.memory, "-smp", str(hardware.cpus)]
    command += _nodes(hardware)
    for index, path in enumerate(hardware.disks):
        command += ["-drive", f"file={path},format=raw,if=none,id=drive{index},cache=unsafe"]
        command += ["-device", f"virtio-blk-pci,drive=drive{index},id=disk{index}"]
    command += ["-fsdev", f"local,id=host,path={hardware.shared},security_model=none"]
    command += ["-device", "virtio-9p-pci,fsdev=host,mount_tag=host", "-device", "virtio-rng-pci"]
    command += ["-serial", "stdio", "-chardev", f"socket,id=line,fd={hardware.line}", "-serial", "chardev:line"]
    command += ["-kernel", str(root.kernel), "-initrd", str(root.initrd)]
    return [*command, "-append", " ".join([words, *hardware.kernel_words])]


def _nodes(hardware: Hardware) -> list[str]:
    """CPUs and memory in equal parts; the last node has the rest."""
    flags = []
    size, per = bytes_of(hardware.memory) // hardware.numa, hardware.cpus // hardware.numa
    for node in range(hardware.numa):
        last = hardware.cpus - 1 if node == hardware.numa - 1 else (node + 1) * per - 1
        flags += ["-object", f"memory-backend-ram,id=memory{node},size={size}"]
        flags += ["-numa", f"node,nodeid={node},cpus={node * per}-{last},memdev=memory{node}"]
    return flags


@cache
def kvm_works() -> bool:
    """Whether a machine can be made by it: a device file alone says nothing."""
    if os.environ.get("ACTORLET_MACHINE_KVM") == "no":
        return False
    try:
        with Path("/dev/kvm").open("rb") as device:
            os.close(fcntl.ioctl(device, _KVM_CREATE_VM, 0))
    except OSError:
        return False
    # Without the CPU's own help (a machine inside another one) it is made, and goes nowhere.
    flags = Path("/proc/cpuinfo").read_text().split()
    return "vmx" in flags or "svm" in flags
