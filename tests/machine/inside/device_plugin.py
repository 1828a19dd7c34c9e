"""Runs inside a machine: the plugin of `tests.device_plugin` as a service.

Each device is the machine's kernel log under another name.

`device_plugin.py KIND COUNT`: with `nodes` containers get the device node, with `cdi` its CDI name. It registers again
whenever the agent makes its socket anew, and writes the machine's uptime then to `/run/registered`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Event

ROOT = Path("/var/lib/kubelet/device-plugins")
CDI_KIND = "vendor.example/gpu"
_NEVER = Event()


def main(kind: str, count: int) -> None:
    package = find_spec("actorlet")
    assert package is not None
    assert package.origin is not None
    sys.path[:0] = [str(Path(package.origin).parent / "_floors")]
    sample = import_module("plugin").SamplePlugin  # beside this file
    from runtime.device_plugins.capability import Device, DeviceSetup, HostDevice

    def setup(ids: tuple[str, ...]) -> DeviceSetup:
        if kind == "cdi":
            return DeviceSetup(cdi=tuple(f"{CDI_KIND}={each}" for each in ids))
        return DeviceSetup(devices=tuple(HostDevice(f"/dev/{each}", "/dev/kmsg", "rw") for each in ids))

    devices = tuple(Device(f"gpu{number}") for number in range(count))
    while True:
        made = _socket()
        with sample(ROOT, devices, setup=setup) as plugin:
            if not plugin.register(ROOT):
                Path("/run/registered").write_text(Path("/proc/uptime").read_text().split()[0])
                while _socket() == made and plugin.path.exists():
                    _NEVER.wait(0.5)
        _NEVER.wait(0.5)


def _socket() -> tuple[int, int]:
    """Which one the agent serves."""
    while True:
        try:
            found = (ROOT / "kubelet.sock").stat()
        except FileNotFoundError:
            _NEVER.wait(0.5)
        else:
            return found.st_ino, found.st_ctime_ns


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
