"""CDI devices of a machine, `vendor.example/gpu=gpu0` and more.

Each is the machine's kernel log under another name.
"""

from __future__ import annotations

import json

from tests.machine.machine import Machine

_DEVICES = {
    "cdiVersion": "0.6.0",
    "kind": "vendor.example/gpu",
    "devices": [
        {
            "name": f"gpu{number}",
            "containerEdits": {
                "env": [f"GPU{number}=mine"],
                "deviceNodes": [{"path": f"/dev/gpu{number}", "hostPath": "/dev/kmsg", "permissions": "rw"}],
            },
        }
        for number in range(4)
    ],
}
_CRI = '[plugins."io.containerd.grpc.v1.cri"]'


def describe_devices(one: Machine) -> None:
    """Write them down, and have containerd 1.7 look for them: it does not unless it is told to."""
    told = one.read("/etc/containerd/config.toml").replace(_CRI, f"{_CRI}\nenable_cdi = true", 1)
    one.put("/etc/containerd/config.toml", told)
    one.put("/etc/cdi/vendor.json", json.dumps(_DEVICES))
    one.run("systemctl restart containerd")
