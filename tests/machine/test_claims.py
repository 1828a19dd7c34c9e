"""Claims of devices (resource.k8s.io) on a whole machine, through a reboot.

The API server is at the other end of a wire: it and its scheduler remember what the machine does not.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.dra_driver.driver import NAME
from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, condition
from tests.machine.cdi import describe_devices
from tests.machine.conftest import Linked
from tests.machine.inside.control_plane import NODE
from tests.machine.link import OutsideServer
from tests.machine.machine import Machine
from tests.real.pods import STAY, container, pod

_TESTS = Path(__file__).parents[1]
_API = "/apis/resource.k8s.io/v1"
_DRIVER = """[Unit]
Description=A driver of tests

[Service]
ExecStart=/opt/prepared/bin/python /opt/driver/dra_driver.py /host/calls
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""
USES = f"echo 'a pod uses its device' > /dev/gpu0 && echo used with $GPU0; {STAY}"


class Node:
    """A machine with a driver that has joined."""

    def __init__(self, one: Machine, server: OutsideServer) -> None:
        self.machine, self.server = one, server
        server.begin()
        describe_devices(one)
        programs = one.shared / "driver"
        programs.mkdir()
        shutil.copy(_TESTS / "machine/inside/dra_driver.py", programs)
        shutil.copy(_TESTS / "dra_driver/driver.py", programs)
        one.run("cp -r /host/driver /opt/driver")
        one.put("/etc/systemd/system/dra-driver.service", _DRIVER)
        AgentAlone(one, JOINED).begin()
        one.run("systemctl enable --now dra-driver")
        server.await_that(lambda: condition(server.node(), "Ready") == "True", "the node is Ready")

    def offer(self) -> None:
        """One device, and a claim for it."""
        pool = {"name": "pool", "generation": 1, "resourceSliceCount": 1}
        slices = {"driver": NAME, "nodeName": NODE, "pool": pool, "devices": [{"name": "gpu-0"}]}
        self._make("resourceslices", "ResourceSlice", "devices", slices)
        chosen = [{"cel": {"expression": f"device.driver == '{NAME}'"}}]
        self._make("deviceclasses", "DeviceClass", NAME, {"selectors": chosen})
        requests = [{"name": "gpu", "exactly": {"deviceClassName": NAME}}]
        self._make("namespaces/default/resourceclaims", "ResourceClaim", "gpu", {"devices": {"requests": requests}})

    def submit(self, *names: str) -> None:
        """Create pods that share the claim; the scheduler binds them."""
        one = container(script=USES, resources={"claims": [{"name": "gpu"}]})
        for name in names:
            document = pod(name, one, resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
            document["spec"]["terminationGracePeriodSeconds"] = 1
            self.server.ask("POST", "/api/v1/namespaces/default/pods", document)

    def said(self, name: str) -> list[str]:
        """The lines of a pod's containers, over all their lives."""
        return self.machine.run(f"cat /var/log/pods/default_{name}_*/main/*.log | cut -d' ' -f4-").splitlines()

    def calls(self) -> list[str]:
        """The methods that the driver was asked for."""
        return [line.split()[0] for line in (self.machine.shared / "calls").read_text().splitlines()]

    def _make(self, path: str, kind: str, name: str, spec: dict[str, Any]) -> None:
        document = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.server.ask("POST", f"{_API}/{path}", document)


@pytest.fixture
def node(linked: Linked) -> Node:
    return Node(linked.machine, linked.server)


def test_two_pods_share_a_device_of_a_claim_through_a_reboot_and_it_is_unprepared_once(node: Node) -> None:
    server, one = node.server, node.machine
    node.offer()
    node.submit("one", "two")
    server.await_running("one", "two")
    assert node.said("one") == node.said("two") == ["used with mine"]
    assert node.calls()[0] == "NodePrepareResources"

    one.power_off()
    one.boot()
    server.await_that(
        lambda: [each["status"]["containerStatuses"][0]["restartCount"] for each in server.pods().values()] == [1, 1],
        "each starts again once",
    )
    server.await_running("one", "two")
    assert node.said("one") == node.said("two") == ["used with mine"] * 2
    assert "NodeUnprepareResources" not in node.calls()

    server.delete("one")
    server.await_that(lambda: "one" not in server.pods(), "one ends")
    assert "NodeUnprepareResources" not in node.calls(), "two still needs it"
    server.delete("two")
    server.await_that(lambda: not server.pods(), "two ends")
    one.until("grep -q Unprepare /host/calls", "it is unprepared")
    assert node.calls().count("NodeUnprepareResources") == 1
