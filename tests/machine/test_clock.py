"""A machine whose clock is an hour off when it boots, and is set right while pods run.

The API server is at the other end of a wire, and has the right time. Nothing may wait for the hour to pass: pods,
back-offs, tokens, the lease of the node.
"""

from __future__ import annotations

import base64
import json

import pytest

from tests.machine.alone import AgentAlone
from tests.machine.api_server import JOINED, condition
from tests.machine.conftest import Linked
from tests.machine.witness import Witness
from tests.real.pods import container, pod
from tests.real.waiting import pass_by

HOUR_S = 3600
TOKEN_S = 600
"""The shortest life of a token. It is over before the hour is."""
REST_S = 30
"""A token that is renewed again and again changes within this time."""
SHORT = {"crashLoopBackOff": {"maxContainerRestartPeriod": "20s"}, "nodeStatusUpdateFrequency": "10s"}
PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 5, "timeoutSeconds": 60, "failureThreshold": 60}
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/machine-1"
_TOKEN = {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_S}}
_VOLUME = {"name": "token", "projected": {"sources": [_TOKEN]}}
STEADY = ("static", "probed", "token")


class Node:
    """One that has joined, with a pod for each thing that a clock may hurt."""

    def __init__(self, linked: Linked) -> None:
        self.machine, self.server = linked.machine, linked.server
        self.server.begin()
        self.agent = AgentAlone(self.machine, JOINED)
        self.agent.begin(**SHORT)
        self.server.await_that(lambda: condition(self.server.node(), "Ready") == "True", "the node is Ready")
        self.witness = Witness(self.machine)
        crash = "echo crashes begins >> /witness/log; exit 1"
        self.agent.drop(self.witness.pod("static"))
        self.server.run(
            pod("probed", container(livenessProbe=PROBE, readinessProbe=PROBE)),
            pod("token", container(volumeMounts=[{"name": "token", "mountPath": "/token"}]), volumes=[_VOLUME]),
            pod("crashes", container(script=crash, volumeMounts=[self.witness.mount]), volumes=[self.witness.volume]),
        )
        self.server.await_running("probed", "token")
        self.await_crashes()

    def await_crashes(self) -> None:
        """Return when a container in its back-off has been started twice more."""

        def begun() -> int:
            return self.witness.said("begins").count("crashes")

        wanted = begun() + 2
        self.server.await_that(lambda: begun() >= wanted, "a container that crashes is started again and again")

    def token(self) -> dict[str, int]:
        """What the token in its pod says of itself."""
        uid = self.server.pod("token")["metadata"]["uid"]
        said = self.machine.read(f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~projected/token/token")
        part = said.split(".")[1]
        found: dict[str, int] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return found

    def heartbeat(self) -> str:
        return str(self.server.ask("GET", _LEASE)["spec"]["renewTime"])

    def is_well(self) -> None:
        """All that moves moves, and what rests rests."""
        beat, token, restarts = self.heartbeat(), self.token(), self.restarts()
        self.await_crashes()
        self.server.await_that(lambda: self.heartbeat() != beat, "the lease is renewed")
        pass_by(REST_S)
        again = self.token()
        renewed = again["iat"] - token["iat"]
        assert renewed == 0 or renewed > TOKEN_S / 2, f"the token was renewed {renewed} s after it was issued"
        assert self.restarts() == restarts
        assert condition(self.server.node(), "Ready") == "True"

    def restarts(self) -> dict[str, int]:
        """Of the pods that do not crash by themselves."""
        return {name: number for name, number in self.agent.restarts().items() if name != "crashes"}


@pytest.mark.parametrize("off_s", [HOUR_S, -HOUR_S], ids=["ahead", "behind"])
def test_pods_come_back_and_go_on_when_the_clock_was_wrong_at_boot(linked: Linked, off_s: int) -> None:
    node = Node(linked)
    one, server = node.machine, node.server
    one.boot_with_clock(off_s)
    one.power_off()
    one.boot()
    server.await_running("probed", "token", "static-machine-1")
    server.await_that(lambda: set(node.restarts().values()) == {1}, "each pod has come back once")
    node.is_well()
    one.move_clock(-off_s)
    node.is_well()
    assert node.restarts() == dict.fromkeys(STEADY, 1)
