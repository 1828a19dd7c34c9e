"""Claims of devices (resource.k8s.io) in a cluster of a test.

The test is the scheduler that allocates them.
"""

from __future__ import annotations

from typing import Any

from config.api.resources import RESOURCE_CLAIMS
from runtime.api import PatchType, create_unread, patch
from tests.dra_driver.driver import NAME
from tests.real.agent import NODE
from tests.real.cluster import ANSWER_S, Cluster
from tests.real.pods import container, pod


class DeviceClaims:
    """Each claim asks for one device of the sample driver, and gets `gpu-0`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def make(self, name: str) -> None:
        exactly = {"deviceClassName": NAME, "allocationMode": "ExactCount", "count": 1}
        spec = {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}}
        document = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}}
        self._ask(create_unread(RESOURCE_CLAIMS, "default", name, {**document, "spec": spec}))

    def give(self, name: str, *pods: str) -> None:
        """Allocate a claim, and reserve it for these pods."""
        users = [{"resource": "pods", "name": f"{each}-{NODE}", "uid": self.uid(each)} for each in pods]
        results = [{"request": "gpu", "driver": NAME, "pool": "pool", "device": "gpu-0"}]
        status = {"status": {"allocation": {"devices": {"results": results}}, "reservedFor": users}}
        kind = PatchType.MERGE
        self._ask(patch(RESOURCE_CLAIMS, "default", name, status, patch_type=kind, subresource="status"))

    def uid(self, pod: str) -> str:
        """The UID of a pod, whose name is given without the node's."""
        found = self._cluster.pod(pod)
        assert found is not None
        return found.metadata.uid

    def run(self, name: str, claim: str) -> None:
        """Create a pod that needs the claim."""
        one = container(resources={"claims": [{"name": "gpu"}]})
        self._cluster.run(pod(name, one, resourceClaims=[{"name": "gpu", "resourceClaimName": claim}]))

    def _ask(self, call: Any) -> Any:
        return self._cluster.lines.main.call(call).result(ANSWER_S)
