"""A kubelet in the place of the agent, to compare values with.

`ACTORLET_TEST_KUBELET` names the program, version 1.36. Tests that play a kubelet are skipped without it.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from tests.machine.alone import AgentAlone

PROGRAM = os.environ.get("ACTORLET_TEST_KUBELET", "")
_UNIT = """[Unit]
Description=A kubelet
After=containerd.service
StartLimitIntervalSec=0

[Service]
Type=notify
TimeoutStartSec=infinity
ExecStartPre=/bin/sh -c '{clock}'
ExecStart=/usr/local/bin/kubelet --config=/var/lib/kubelet/config.yaml {flags}
Restart=always
RestartSec=10
KillMode=process
CPUAccounting=yes
MemoryAccounting=yes

[Install]
WantedBy=multi-user.target
"""
_CLOCK = (
    'grep -q "cpu MHz" /proc/cpuinfo || { (cat /proc/cpuinfo; echo "cpu MHz : 1000.000") > /run/cpuinfo; '
    "mount --bind /run/cpuinfo /proc/cpuinfo; }"
)
"""User-mode Linux does not tell the speed of its CPU, and a kubelet does not start without it."""
_LIST = (
    "python3 -c 'from urllib.request import urlopen; "
    'print(urlopen("http://127.0.0.1:10255/pods", timeout=30).read().decode())\''
)


class KubeletAlone(AgentAlone):
    """The same methods; it is asked over its read-only port."""

    unit = "kubelet"
    listing = _LIST

    def install(self) -> None:
        shutil.copy(PROGRAM, self.machine.shared / "kubelet")
        self.machine.run("install -m 755 /host/kubelet /usr/local/bin/kubelet")
        (self.machine.shared / "kubelet").unlink()
        self.machine.put("/etc/systemd/system/kubelet.service", _UNIT.format(flags=self.flags, clock=_CLOCK))

    def configure(self, **fields: Any) -> None:
        authentication = {"anonymous": {"enabled": True}, "webhook": {"enabled": False}}
        super().configure(
            **{
                "enableServer": True,
                "readOnlyPort": 10255,
                "authentication": authentication,
                "authorization": {"mode": "AlwaysAllow"},
                "contentType": "application/json",  # the embedded server takes no protobuf of nodes
                **fields,
            }
        )
