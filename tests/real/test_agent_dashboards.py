"""The dashboards and alerts of kubernetes-mixin, for a node on containerd: no panel is empty.

Prometheus evaluates them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.files.text_file import text_or_empty
from tests.real.agent import Agent, cgroup_directories
from tests.real.kubectl import Kubectl, kubectl_on, port_of
from tests.real.pods import STAY, container, pod
from tests.real.prometheus import Prometheus
from tests.real.waiting import until
from tests.upstream.dashboards import ALERTS, EMPTY, KUBELET_DASHBOARD, RESOURCES

PAGES = ("/metrics", "/metrics/cadvisor")
PANELS = {**KUBELET_DASHBOARD, **RESOURCES, **ALERTS}
WRITE = "dd if=/dev/zero of=/scratch/file bs=64k count=64 oflag=direct"
READ = "dd if=/scratch/file of=/dev/null bs=64k iflag=direct"
BUSY = f"while :; do {WRITE}; {READ}; done 2>/dev/null"


DISK_PANELS = {name for name in RESOURCES if name.startswith("disk, ")}


def counts_io(agent: Agent) -> bool:
    """Whether the kernel has counted any I/O of the agent's containers, as the kernel itself tells it."""
    above = cgroup_directories(agent.cgroup_root)
    files = (each for top in above.values() for name in ("io.stat", "blkio.*io_service*") for each in top.rglob(name))
    texts = (text_or_empty(str(file)) for file in files)
    return any(word in text for text in texts for word in ("rbytes=", " Read "))


@pytest.fixture
def kubectl(agent: Agent) -> Iterator[Kubectl]:
    with kubectl_on(agent) as found:
        yield found


def busy_pod() -> dict[str, Any]:
    mounts: dict[str, Any] = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
    limits: dict[str, Any] = {"resources": {"limits": {"memory": "64Mi", "cpu": "300m"}}}
    volumes = [{"name": "scratch", "emptyDir": {}}]
    return pod("busy", container(script=BUSY, **mounts, **limits), container("idle", STAY), volumes=volumes)


# (spec 11.7.4)
def test_no_panel_is_empty_but_the_listed_ones(agent: Agent, kubectl: Kubectl) -> None:
    kubectl.run(busy_pod())
    # An image that is nowhere: without it, no call to the runtime fails.
    lost = pod("lost", {**container(), "image": "127.0.0.1:1/nowhere:1", "imagePullPolicy": "Always"})
    kubectl("create", "-f", "-", stdin=json.dumps(lost))
    users = yaml.safe_load(Path(kubectl.kubeconfig).read_text())["users"]
    server = Prometheus(agent.directory / "prometheus", port_of(agent), PAGES, users[0]["user"]["token"])
    try:
        missing = [name for name in PANELS if name not in EMPTY]

        def all_have_values() -> bool:
            missing[:] = [name for name in missing if not server.query(PANELS[name])]
            # Some kernels with cgroups of version 1 count no I/O by cgroup: then no container has series of disks.
            return not missing or (set(missing) == DISK_PANELS and not counts_io(agent))

        until(all_have_values, 120, lambda: f"empty: {missing}")
        filled = [name for name in EMPTY if server.query(PANELS[name])]
        assert filled == [], "it has values, so it need not be listed as empty"
    finally:
        server.stop()
