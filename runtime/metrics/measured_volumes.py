"""`MeasuredVolumes`: times volume operations by plugin (`storage_operation_duration_seconds`).

`drivers_asked`: what storage drivers are asked for it, and how long they take (`csi_operations_seconds`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from config.objects import Pod
from runtime.metrics import kubelet as names
from runtime.metrics.meters import Meters
from runtime.volumes.capability import NodeVolumes, Say, VolumePlace, VolumeSpec

T = TypeVar("T")

SUCCESS, FAILURE = "success", "fail-unknown"
NOT_MIGRATED = "false"


class MeasuredVolumes:
    """See the module. An operation that hangs is timed when it ends, if it ever does."""

    def __init__(self, volumes: NodeVolumes, meters: Meters, now_ns: Callable[[], int]) -> None:
        self._volumes = volumes
        self._meters = meters
        self._now_ns = now_ns
        # Of these nobody wants to know how long they take.
        self.locate, self.usable = volumes.locate, volumes.usable
        self.condition, self.of_drivers, self.measure = volumes.condition, volumes.of_drivers, volumes.measure
        self.make_pod, self.remove_pod = volumes.make_pod, volumes.remove_pod
        self.volumes_of, self.list_uids, self.scan = volumes.volumes_of, volumes.list_uids, volumes.scan

    def stage(self, pod: Pod, spec: VolumeSpec, say: Say) -> None:
        plugin = self._plugin(pod, spec)
        return self._timed(plugin, "volume_device_mount", lambda: self._volumes.stage(pod, spec, say))

    def prepare(self, pod: Pod, spec: VolumeSpec, say: Say) -> str:
        plugin = self._plugin(pod, spec)
        return self._timed(plugin, "volume_mount", lambda: self._volumes.prepare(pod, spec, say))

    def release(self, place: VolumePlace) -> None:
        return self._timed(place.plugin, "volume_unmount", lambda: self._volumes.release(place))

    def unstage(self, device: str) -> None:
        plugin = "/".join(device.split("/")[:2])
        return self._timed(plugin, "unmount_device", lambda: self._volumes.unstage(device))

    def _plugin(self, pod: Pod, spec: VolumeSpec) -> str:
        return self._volumes.locate(pod.metadata.uid, spec).place.plugin

    def _timed(self, plugin: str, operation: str, do: Callable[[], T]) -> T:
        began_ns = self._now_ns()

        def ended(status: str) -> None:
            took_ns = self._now_ns() - began_ns
            self._meters.took(names.STORAGE_DURATION, took_ns, plugin, operation, status, NOT_MIGRATED)
            if status == SUCCESS:
                self._meters.took(names.VOLUME_TOTAL, took_ns, plugin, operation)

        try:
            result = do()
        except BaseException:
            ended(FAILURE)
            raise
        hanging: Any = result
        if hasattr(hanging, "add_done_callback"):  # a simulated disk that hangs
            hanging.add_done_callback(lambda done: ended(SUCCESS if done.exception() is None else FAILURE))
        else:
            ended(SUCCESS)
        return result


def drivers_asked(meters: Meters) -> Callable[[str, str, str, int], None]:
    """An observer for `GrpcCsiDrivers`: it gets driver, method, code and duration of each call."""

    def asked(driver: str, method: str, code: str, took_ns: int) -> None:
        meters.took(names.CSI_OPERATIONS, took_ns, driver, method, code, NOT_MIGRATED)

    return asked
