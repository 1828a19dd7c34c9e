"""The services of the test driver: `csi.v1` Identity and Node.

Also the registration with the node's agent.

Every call is written as one line of JSON to the calls file, before anything is done. The orders file, read again for
each call, may say what happens to a method instead. `{"NodePublishVolume": {"code": "INTERNAL"}}` fails. `{"hang":
true}` waits until the caller has given up. `{"late": true}` does it all and then waits so. `"times": 1`: only so often.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc

from runtime.csi.v1 import csi_pb2 as csi
from runtime.plugin_registration.v1 import registration_pb2 as registration
from tests.csi_driver.volumes import Store

ALL_ABILITIES = ("STAGE_UNSTAGE_VOLUME", "GET_VOLUME_STATS", "EXPAND_VOLUME", "SINGLE_NODE_MULTI_WRITER")
EPHEMERAL = "csi.storage.k8s.io/ephemeral"
VERSIONS = ("1.0.0",)


class Settings:
    """What the driver is started with. `endpoint`: its socket; `calls`, `orders`: paths of those files."""

    def __init__(self, **given: Any) -> None:
        self.name: str = given["name"]
        self.node_id: str = given["node_id"]
        self.endpoint: str = given["endpoint"]
        self.abilities: tuple[str, ...] = tuple(given["abilities"])
        self.max_volumes: int = given["max_volumes"]
        self.topology: dict[str, str] = given["topology"]
        self.versions: tuple[str, ...] = tuple(given["versions"])
        self.kind: str = given["kind"]
        self.calls = Path(given["calls"])
        self.orders = Path(given["orders"])


class Book:
    """Writes down what was asked, and says what is to happen."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._done: dict[str, int] = {}

    def begin(self, method: str, request: Any, context: Any) -> Callable[[], None]:
        """Called before a call is served; fails it if the orders say so.

        The result must be called after the operation."""
        fields = {field.name: _plain(value) for field, value in request.ListFields()}
        with self._lock:
            with self._settings.calls.open("a") as file:
                file.write(json.dumps({"method": method, **fields}) + "\n")
            order = self._order(method)
        if order.get("code"):
            context.abort(grpc.StatusCode[order["code"]], order.get("message", "as ordered"))
        if order.get("hang"):
            _wait_for_the_caller(context)
        return (lambda: _wait_for_the_caller(context)) if order.get("late") else (lambda: None)

    def _order(self, method: str) -> dict[str, Any]:
        try:
            orders = json.loads(self._settings.orders.read_text() or "{}")
        except FileNotFoundError:
            return {}
        order: dict[str, Any] = orders.get(method, {})
        identity = json.dumps([method, order])
        if order and "times" in order:
            self._done[identity] = self._done.get(identity, 0) + 1
            if self._done[identity] > order["times"]:
                return {}
        return order


class Driver:
    """The methods, by their paths."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store

    def methods(self) -> dict[str, tuple[type[Any], Callable[[Any, Any], Any]]]:
        """Path -> what is asked, and who answers."""
        node = {
            "NodeGetInfo": (csi.NodeGetInfoRequest, self.info),
            "NodeGetCapabilities": (csi.NodeGetCapabilitiesRequest, self.abilities),
            "NodeStageVolume": (csi.NodeStageVolumeRequest, self.stage),
            "NodeUnstageVolume": (csi.NodeUnstageVolumeRequest, self.unstage),
            "NodePublishVolume": (csi.NodePublishVolumeRequest, self.publish),
            "NodeUnpublishVolume": (csi.NodeUnpublishVolumeRequest, self.unpublish),
            "NodeExpandVolume": (csi.NodeExpandVolumeRequest, self.expand),
            "NodeGetVolumeStats": (csi.NodeGetVolumeStatsRequest, self.stats),
        }
        identity = {
            "GetPluginInfo": (csi.GetPluginInfoRequest, self.plugin),
            "Probe": (csi.ProbeRequest, lambda *_: csi.ProbeResponse(ready=csi.Truth(value=True))),
        }
        return {
            **{f"/csi.v1.Node/{name}": each for name, each in node.items()},
            **{f"/csi.v1.Identity/{name}": each for name, each in identity.items()},
        }

    def plugin(self, _: Any, __: Any) -> Any:
        return csi.GetPluginInfoResponse(name=self._settings.name, vendor_version="0.1")

    def info(self, _: Any, __: Any) -> Any:
        topology = csi.Topology(segments=self._settings.topology)
        return csi.NodeGetInfoResponse(
            node_id=self._settings.node_id,
            max_volumes_per_node=self._settings.max_volumes,
            accessible_topology=topology,
        )

    def abilities(self, _: Any, __: Any) -> Any:
        rpcs = [csi.NodeServiceCapability.RPC(type=name) for name in self._settings.abilities]
        capabilities = [csi.NodeServiceCapability(rpc=rpc) for rpc in rpcs]
        return csi.NodeGetCapabilitiesResponse(capabilities=capabilities)

    def stage(self, request: Any, context: Any) -> Any:
        path = Path(request.staging_target_path)
        if not path.is_dir():
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{path} is not a directory")
        if request.volume_capability.HasField("mount"):
            self._store.bind(self._store.files(request.volume_id), path)
        else:
            self._store.device(request.volume_id)
        return csi.NodeStageVolumeResponse()

    def unstage(self, request: Any, _: Any) -> Any:
        self._store.unbind(Path(request.staging_target_path), remove=False)
        self._store.drop_device(request.volume_id)
        return csi.NodeUnstageVolumeResponse()

    def publish(self, request: Any, context: Any) -> Any:
        target, staging = Path(request.target_path), Path(request.staging_target_path)
        if not target.parent.is_dir():
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{target.parent} is not a directory")
        if request.volume_capability.HasField("block"):
            self._store.bind_device(request.volume_id, target)
            return csi.NodePublishVolumeResponse()
        staged = request.staging_target_path and "STAGE_UNSTAGE_VOLUME" in self._settings.abilities
        if staged and not self._store.is_mounted(staging):
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"{request.volume_id} is not staged at {staging}")
        source = staging if staged else self._store.files(request.volume_id)
        if request.volume_context.get(EPHEMERAL) == "true":
            (source / "who").write_text(request.volume_context.get("csi.storage.k8s.io/pod.name", ""))
        self._store.bind(source, target, read_only=request.readonly)
        return csi.NodePublishVolumeResponse()

    def unpublish(self, request: Any, _: Any) -> Any:
        target = Path(request.target_path)
        if target.is_file() or target.is_block_device():
            self._store.unbind_device(target)
        else:
            self._store.unbind(target, remove=True)
        return csi.NodeUnpublishVolumeResponse()

    def expand(self, request: Any, context: Any) -> Any:
        if not os.path.exists(request.volume_path):
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no {request.volume_path}")
        block = request.volume_capability.HasField("block")
        self._store.expand(request.volume_id, request.capacity_range.required_bytes, block=block)
        return csi.NodeExpandVolumeResponse(capacity_bytes=request.capacity_range.required_bytes)

    def stats(self, request: Any, context: Any) -> Any:
        if not os.path.exists(request.volume_path):
            context.abort(grpc.StatusCode.NOT_FOUND, f"there is no {request.volume_path}")
        files = len(os.listdir(request.volume_path)) if os.path.isdir(request.volume_path) else 0
        total = self._store.size(request.volume_id) or 1000
        space = csi.VolumeUsage(unit=csi.VolumeUsage.BYTES, total=total, used=10, available=total - 10)
        inodes = csi.VolumeUsage(unit=csi.VolumeUsage.INODES, total=100, used=files, available=100 - files)
        return csi.NodeGetVolumeStatsResponse(usage=[space, inodes])


class Registration:
    """How the agent learns of the driver."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def methods(self) -> dict[str, tuple[type[Any], Callable[[Any, Any], Any]]]:
        """Path -> what is asked, and who answers."""
        service = "/pluginregistration.Registration"
        return {
            f"{service}/GetInfo": (registration.InfoRequest, self.info),
            f"{service}/NotifyRegistrationStatus": (
                registration.RegistrationStatus,
                lambda *_: registration.RegistrationStatusResponse(),
            ),
        }

    def info(self, _: Any, __: Any) -> Any:
        settings = self._settings
        return registration.PluginInfo(
            type=settings.kind,
            name=settings.name,
            endpoint=settings.endpoint,
            supported_versions=settings.versions,
        )


class Handlers(grpc.GenericRpcHandler):
    """Serves methods by their paths."""

    def __init__(self, methods: dict[str, tuple[type[Any], Callable[[Any, Any], Any]]], book: Book) -> None:
        self._methods = {path: _handler(path, *each, book) for path, each in methods.items()}

    def service(self, handler_call_details: Any) -> Any:
        return self._methods.get(handler_call_details.method)


def _handler(path: str, kind: Any, answer: Callable[[Any, Any], Any], book: Book) -> Any:
    def serve(request: Any, context: Any) -> Any:
        after = book.begin(path.rpartition("/")[2], request, context)
        found = answer(request, context)
        after()
        return found

    return grpc.unary_unary_rpc_method_handler(
        serve, request_deserializer=kind.FromString, response_serializer=lambda it: it.SerializeToString()
    )


def _wait_for_the_caller(context: Any) -> None:
    gone = threading.Event()
    if context.add_callback(gone.set):
        gone.wait()
    context.abort(grpc.StatusCode.CANCELLED, "the caller has gone")


def _plain(value: Any) -> Any:
    if hasattr(value, "ListFields"):
        return {field.name: _plain(each) for field, each in value.ListFields()}
    if hasattr(value, "items"):
        return dict(value)
    if isinstance(value, str | int | float | bool):
        return value
    return [_plain(each) for each in value]
