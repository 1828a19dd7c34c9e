"""An agent that runs alone on a machine, by the unit of `deploy/`, with pods from manifests."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.machine.machine import Machine

MANIFESTS = "/etc/kubernetes/manifests"
STATE = "/var/lib/kubelet"
LOOK_EVERY_S = 3.0
"""Each look starts a Python in the machine: looks without a pause take the CPU from what is awaited."""
_DROP_IN = """[Service]
ExecStart=
ExecStart=/usr/bin/actorlet run --config=/var/lib/kubelet/config.yaml {flags}
"""
"""The unit's own command joins a cluster."""
_CONTAINERS = r"""
ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" {print $1}' | while read id; do
    ctr -n k8s.io containers info $id | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["Labels"]))'
done
"""


class AgentAlone:
    """`begin` once; it comes back with each boot of its machine."""

    unit = "actorlet"
    listing = "actorlet pods --output json"
    """What prints the pods that it knows."""

    def __init__(self, machine: Machine, flags: str = "") -> None:
        """`flags`: more words of its command, such as `--kubeconfig=FILE`, with which it is not alone."""
        self.machine = machine
        self.flags = flags

    def begin(self, **fields: Any) -> None:
        """Configure and start it; `fields` are those of KubeletConfiguration."""
        self.install()
        self.configure(**fields)
        self.machine.run(f"mkdir -p {MANIFESTS}; ctr -n k8s.io images import /opt/images.tar")
        shown = f"{{ journalctl --no-pager -u {self.unit} | tail -n 30; exit 1; }}"
        self.machine.run(f"systemctl daemon-reload; systemctl enable --now {self.unit} || {shown}")

    def begin_again(self, **fields: Any) -> None:
        """Start it over, with other fields; its pods stay."""
        self.configure(**fields)
        self.machine.run(f"systemctl restart {self.unit}")

    def install(self) -> None:
        """Have a unit that runs it alone."""
        self.machine.put("/etc/systemd/system/actorlet.service.d/alone.conf", _DROP_IN.format(flags=self.flags))

    def configure(self, **fields: Any) -> None:
        """Write its configuration."""
        configuration = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            "staticPodPath": MANIFESTS,
            "cgroupDriver": "systemd",
            # It would ask an API server who may ask it.
            "enableServer": False,
            **fields,
        }
        self.machine.put(f"{STATE}/config.yaml", json.dumps(configuration))

    def drop(self, *pods: dict[str, Any]) -> None:
        """Write manifests, each whole at once, and make sure of the disk."""
        writes = []
        for pod in pods:
            name = pod["metadata"]["name"]
            held = self.machine.shared / f"{name}.json"
            held.write_text(json.dumps(pod))
            # A name with a dot in front is no manifest.
            hidden = f"{MANIFESTS}/.{name}"
            writes.append(f"cp /host/{name}.json {hidden} && sync {hidden} && mv {hidden} {MANIFESTS}/{name}.json")
        self.machine.run("\n".join([*writes, f"sync {MANIFESTS}"]))

    def withdraw(self, *names: str) -> None:
        """Remove manifests."""
        self.machine.run("\n".join([*(f"rm {MANIFESTS}/{name}.json" for name in names), f"sync {MANIFESTS}"]))

    def pods(self) -> dict[str, dict[str, Any]]:
        """Each pod by its name without the node's."""
        told = self.machine.tried(self.listing)
        if told.status != 0:
            return {}
        items = json.loads(told.output)
        items = items["items"] if isinstance(items, dict) else items
        return {each["metadata"]["name"].removesuffix("-machine-1"): each for each in items}

    def await_running(self, *names: str, limit_s: float = 600.0) -> None:
        """Return once the agent shows just these pods, each of them Running and Ready."""
        table = " ".join(sorted(names))
        condition = (
            f"{self.listing} | python3 -c '"
            "import json, sys; found = json.load(sys.stdin); "
            'found = found["items"] if isinstance(found, dict) else found; '
            'ready = lambda pod: any(each["type"] == "Ready" and each["status"] == "True" '
            'for each in pod["status"].get("conditions", [])); '
            'names = sorted(each["metadata"]["name"].removesuffix("-machine-1") for each in found); '
            f'sys.exit(names != "{table}".split() or not all(map(ready, found)))'
            "'"
        )
        self.machine.until(
            condition, f"pods {table} run; `actorlet pods` in the machine shows why", limit_s, LOOK_EVERY_S
        )

    def restarts(self) -> dict[str, int]:
        """How often the first container of each pod was started again."""
        return {
            name: pod["status"]["containerStatuses"][0]["restartCount"]
            for name, pod in self.pods().items()
            if pod["status"].get("containerStatuses")
        }

    def live_containers(self) -> Counter[tuple[str, str]]:
        """How many processes the runtime has for each pod and container; a sandbox has no container name."""
        lines = self.machine.run(_CONTAINERS).splitlines()
        labels = [json.loads(line) for line in lines]
        return Counter(
            (each["io.kubernetes.pod.name"].removesuffix("-machine-1"), each.get("io.kubernetes.container.name", ""))
            for each in labels
        )

    def seconds_to_ready(self) -> float:
        """From the start of its process in this boot until it told systemd that it is ready."""
        shown = self.machine.run(
            f"systemctl show {self.unit} -p ActiveEnterTimestampMonotonic -p ExecMainStartTimestampMonotonic"
        )
        times = dict(line.split("=") for line in shown.split())
        active, began = (int(times[f"{each}TimestampMonotonic"]) for each in ("ActiveEnter", "ExecMainStart"))
        assert active >= began > 0, f"it is not ready: {shown}\n{self.machine.journal(self.unit)[-3000:]}"
        return (active - began) / 1e6

    def unreadable_state(self) -> list[str]:
        """State files that it has moved aside."""
        return self.machine.run(f"find {STATE} -name '*.unreadable*' -o -path '*/unreadable/*'").split()
