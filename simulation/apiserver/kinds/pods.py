"""Pods: defaults, admission, permitted changes, and deletion (spec 1.2, 4.5).

It decides how long a pod stays after a DELETE.

A new pod gets the defaults of the API, what admission adds in every cluster, and a status. Its spec hardly changes
afterwards (`pod_changes`); its status belongs to the agent. A bound pod that has not ended stays after a DELETE until
its agent has ended it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from config.documents.codec import DocumentError, from_builtins, to_builtins
from config.objects import ApiStruct, ObjectMeta, Pod, PodSpec
from config.pods.defaults import default_pod
from config.pods.identity import CONFIG_MIRROR
from config.validation.pod import validate_metadata, validate_pod
from simulation.apiserver.kinds.pod_admission import admit
from simulation.apiserver.kinds.pod_changes import check_container_states, check_spec_change
from simulation.apiserver.kinds.pod_resizes import check_resize, with_asked
from simulation.apiserver.kinds.pod_specs import work_out
from simulation.apiserver.kinds.rules import KindRules, faults_as_invalid
from simulation.apiserver.reading import knows_change_of_status, read_change_of_pod
from simulation.apiserver.requests import ResourceCall
from simulation.apiserver.resources import PODS, ServedResource
from simulation.apiserver.status import Json, forbidden_field, invalid, required
from simulation.apiserver.store import Version

DEFAULT_GRACE_S = 30
_TERMINAL = ("Succeeded", "Failed")


class PodRules(KindRules):
    has_generation = True

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        try:
            return read_change_of_pod(value)
        except DocumentError:
            return super().read(resource, value)

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        return knows_change_of_status(old, status)

    def prepare(self, call: ResourceCall, value: Json) -> None:
        metadata = value["metadata"]
        name = metadata["name"]
        if not isinstance(value.get("spec"), dict):
            raise invalid(PODS, name, [required("spec")])
        mirror = CONFIG_MIRROR in (metadata.get("annotations") or ())
        worked = work_out(admit(self.core, name, metadata["namespace"], value["spec"], mirror=mirror))
        faults = worked.faults
        if metadata.get("ownerReferences"):
            # All else in the metadata has been checked already, as it is for every kind.
            faults = (*validate_metadata(from_builtins(metadata, ObjectMeta)), *faults)
        _refuse(name, faults)
        value["spec"] = worked.spec
        value["status"] = {"phase": "Pending", "qosClass": worked.qos}

    def change(self, call: ResourceCall, old: Json, new: Json) -> None:
        if new.get("spec") == old["spec"]:
            new["spec"] = old["spec"]
            return
        if not isinstance(new.get("spec"), dict):
            raise invalid(PODS, call.name, [required("spec")])
        faults = self._complete(new)
        check_spec_change(call.name, old["spec"], new["spec"])
        _refuse(call.name, faults)

    def change_status(self, call: ResourceCall, old: Json, new: Json) -> None:
        if call.target.subresource == "status":
            before, after = old.get("status") or {}, new.get("status") or {}
            if before.get("qosClass") and after.get("qosClass") != before["qosClass"]:
                raise invalid(PODS, call.name, [forbidden_field("status.qosClass", "field is immutable")])
            check_container_states(call.name, old["spec"], before, after)
            return
        spec, metadata = new.get("spec") or {}, new["metadata"]
        resizes = call.target.subresource == "resize"
        if resizes and CONFIG_MIRROR in (old["metadata"].get("annotations") or ()):
            raise invalid(PODS, call.name, [forbidden_field("metadata", "static pods cannot be resized")])
        kept = with_asked(call.name, old["spec"], spec) if resizes else {**old["spec"], **_ephemeral(spec)}
        new.clear()
        new.update({**old, "metadata": metadata, "spec": kept})
        _refuse(call.name, self._complete(new))
        if resizes:
            qos = (old.get("status") or {}).get("qosClass")
            check_resize(call.name, old["spec"], new["spec"], from_builtins(new["spec"], PodSpec), qos)

    def _complete(self, value: Json) -> Sequence[DocumentError]:
        """Write defaults into the pod; its faults. Raises StatusError (400)."""
        self.read(PODS, value)
        defaulted = default_pod(from_builtins({**value, "status": None}, Pod))
        value["spec"] = to_builtins(defaulted)["spec"]
        return validate_pod(defaulted)

    def grace(self, old: Version, options: Json) -> int:
        if not self.is_told_first(old):
            return 0
        asked = options.get("gracePeriodSeconds")
        if asked is None:
            asked = old.object["spec"].get("terminationGracePeriodSeconds")
        seconds = DEFAULT_GRACE_S if asked is None else int(asked)
        return seconds if seconds >= 0 else 1

    def is_told_first(self, old: Version) -> bool:
        """A node that runs the pod has to end it as fast."""
        value = old.object
        return bool(value["spec"].get("nodeName")) and value.get("status", {}).get("phase") not in _TERMINAL


def _refuse(name: str, faults: Sequence[DocumentError]) -> None:
    """Raises StatusError (422) where there are faults."""
    if faults:
        raise faults_as_invalid(PODS, name, faults)


def _ephemeral(spec: Json) -> Json:
    return {"ephemeralContainers": spec.get("ephemeralContainers") or []}
