"""What drivers of simulated nodes do at the API: offer devices in ResourceSlices, and read claims.

Each driver has a DeviceClass of its name. A driver writes its slices as soon as its node is there. It writes them again
when somebody deletes them, as an agent does with all slices of its node when it begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.timers import Cancellable
from runtime.dra.capability import ClaimDevice, ClaimRef
from simulation.allocation.results import results_of
from simulation.apiserver.requests.calls import ADMIN
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import DELETED, Store, Version
from simulation.controllers.store_follower import StoreFollower, ask

Json = Mapping[str, Any]
SLICES = "resourceslices.resource.k8s.io"
CLAIMS = "resourceclaims.resource.k8s.io"
_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
_PATH = "/apis/resource.k8s.io/v1/resourceslices"
DEVICES_AT_MOST = 64
"""In one slice. The API allows 128, and 64 with taints."""
AGAIN_AFTER_NS = 10**9


def slices_of(node: str, driver: str, devices: Sequence[Json]) -> dict[str, Json]:
    """Name -> spec of the slices of one driver on one node. Pure."""
    parts = [devices[first : first + DEVICES_AT_MOST] for first in range(0, len(devices), DEVICES_AT_MOST)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": len(parts)}
    return {
        f"{node}-{driver}-{number}": {"driver": driver, "nodeName": node, "pool": pool, "devices": list(part)}
        for number, part in enumerate(parts)
    }


def devices_given(store: Store, driver: str, claim: ClaimRef) -> tuple[ClaimDevice, ...]:
    """The devices of that driver that a claim has now."""
    version = store.get(CLAIMS, claim.namespace, claim.name)
    results = () if version is None or version.uid != claim.uid else results_of(version.object)
    return tuple(
        ClaimDevice(
            str(each["pool"]),
            str(each["device"]),
            (str(each["request"]),),
            (f"{driver}/device={each['device']}",),
            str(each.get("shareID", "")),
        )
        for each in results
        if each["driver"] == driver
    )


class DeviceSlices:
    """See the module. Drivers offer devices from `start` on."""

    def __init__(self, server: ApiServer, clock: Dispatcher) -> None:
        self._server = server
        self._clock = clock
        self._offered: dict[str, Json] = {}
        """Name of a slice -> its spec."""
        self._follower = StoreFollower(server, clock, {SLICES: self._slice, "nodes": self._node})
        self._turn: Cancellable | None = None

    def start(self) -> None:
        for driver in sorted({spec["driver"] for spec in self._offered.values()}):
            rule = {"cel": {"expression": f'device.driver == "{driver}"'}}
            about = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": driver}}
            ask(self._server, ADMIN, "POST", _CLASSES, {**about, "spec": {"selectors": [rule]}})
        self._follower.start()
        self._write()

    def offer(self, node: str, driver: str, devices: Sequence[Json]) -> None:
        """The driver of that node has these devices, and no others."""
        self.withdraw(node, driver)
        self._offered |= slices_of(node, driver, devices)
        self._write_soon(0)

    def withdraw(self, node: str, driver: str) -> None:
        """The driver of that node is gone. Its slices stay until somebody deletes them."""
        self._offered = {
            name: spec for name, spec in self._offered.items() if (spec["nodeName"], spec["driver"]) != (node, driver)
        }

    def is_offered(self, resource_slice: Json) -> bool:
        """Whether an object is a slice that a driver offers now."""
        return resource_slice.get("kind") == "ResourceSlice" and resource_slice["metadata"]["name"] in self._offered

    def _slice(self, kind: str, version: Version) -> None:
        if kind == DELETED and version.name in self._offered:
            self._write_soon(AGAIN_AFTER_NS)

    def _node(self, kind: str, version: Version) -> None:
        if any(spec["nodeName"] == version.name for spec in self._offered.values()) and kind == "ADDED":
            self._write_soon(0)

    def _write_soon(self, after_ns: int) -> None:
        if self._turn is None:
            self._turn = self._clock.schedule(after_ns, self._write)

    def _write(self) -> None:
        with self._server.lock:
            self._turn = None
            store = self._server.store
            for name, spec in self._offered.items():
                node = store.get("nodes", "", spec["nodeName"])
                if node is None:
                    continue
                known = store.get(SLICES, "", name)
                owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
                about = {"name": name, "ownerReferences": [{**owner, "controller": True}]}
                body = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": about, "spec": spec}
                if known is None:
                    ask(self._server, ADMIN, "POST", _PATH, body)
                elif known.object["spec"]["devices"] != spec["devices"]:
                    ask(self._server, ADMIN, "PUT", f"{_PATH}/{name}", {**known.object, "spec": spec})
