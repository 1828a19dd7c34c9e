"""Pods: defaults and admission of new ones, what may change, and how long they stay after a DELETE (spec 1.2, 4.5).

A new pod gets the defaults of the API, what admission adds in every cluster (its service account and token volume,
priority, tolerations of a bad node), and a status. Its spec does not change afterwards but for a few fields; its status
belongs to the agent. Owns the grace of a deletion: pods that are bound and not terminal stay until their agent has
ended them.
"""

from __future__ import annotations

from typing import Any

from config.documents.codec import DocumentError, from_builtins, to_builtins
from config.objects import ApiStruct, ObjectMeta, Pod
from config.pods.defaults import default_pod
from config.pods.identity import CONFIG_MIRROR
from config.validation.pod import validate_metadata, validate_pod
from simulation.apiserver.by_identity import NOT_KNOWN, ByIdentity
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.pod_admission import admit
from simulation.apiserver.kinds.pod_changes import check_container_states, check_spec_change
from simulation.apiserver.kinds.pod_specs import WorkedSpec, work_out
from simulation.apiserver.kinds.rules import KindRules, faults_as_invalid
from simulation.apiserver.reading import knows_change_of_status, read_change_of_pod
from simulation.apiserver.requests import Call
from simulation.apiserver.resources import PODS, ServedResource
from simulation.apiserver.status import Json, forbidden_field, invalid, required
from simulation.apiserver.store import Version

DEFAULT_GRACE_S = 30
SENT_AT_MOST = 256
_TERMINAL = ("Succeeded", "Failed")


class PodRules(KindRules):
    """See the module."""

    struct: type[ApiStruct] | None = Pod
    has_status = True
    has_generation = True
    answers_with_object = True

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._sent: ByIdentity[tuple[Version, WorkedSpec]] = ByIdentity(SENT_AT_MOST)
        """What becomes of a spec that was sent as a document, for the pods of that service account."""

    def prepare(self, call: Call, value: Json) -> None:
        metadata = value["metadata"]
        if not isinstance(value.get("spec"), dict):
            raise invalid(PODS, metadata["name"], [required("spec")])
        worked = self._worked_out(call, metadata, value["spec"])
        faults = worked.faults
        if metadata.get("ownerReferences"):
            # All else in the metadata has been checked already, as it is for every kind.
            faults = (*validate_metadata(from_builtins(metadata, ObjectMeta)), *faults)
        if faults:
            name = metadata["name"]
            raise faults_as_invalid(PODS, name, faults)
        value["spec"] = worked.spec
        value["status"] = {"phase": "Pending", "qosClass": worked.qos}

    def _worked_out(self, call: Call, metadata: Json, spec: Json) -> WorkedSpec:
        """With what admission adds. Who stands beside the server sends the same spec for all pods of a template, and
        nobody changes it: it is worked out once, unless something in it is another one for each pod.
        """
        name, namespace = metadata["name"], metadata["namespace"]
        if CONFIG_MIRROR in (metadata.get("annotations") or ()):
            return work_out(admit(self.core, name, namespace, spec, mirror=True))
        accounts = self.core.store.of["serviceaccounts"]
        known = self._sent.get(id(spec), NOT_KNOWN)[1]
        if known is not None and accounts.get((namespace, known[0].name)) is known[0]:
            return known[1]
        admitted = admit(self.core, name, namespace, spec, mirror=False)
        worked = work_out(admitted)
        if type(call.request.body) is dict and admitted.get("containers") is spec.get("containers"):
            account = accounts.get((namespace, admitted["serviceAccountName"]))
            assert account is not None, "admission has found it"
            self._sent.put(spec, (account, worked))
        return worked

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        try:
            return read_change_of_pod(value)
        except DocumentError:
            return super().read(resource, value)

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        return knows_change_of_status(old, status)

    def change(self, call: Call, old: Json, new: Json) -> None:
        if new.get("spec") == old["spec"]:
            new["spec"] = old["spec"]
            return
        if not isinstance(new.get("spec"), dict):
            raise invalid(PODS, call.name, [required("spec")])
        self.read(PODS, new)
        defaulted = default_pod(from_builtins({**new, "status": None}, Pod))
        new["spec"] = to_builtins(defaulted)["spec"]
        check_spec_change(call.name, old["spec"], new["spec"])
        faults = validate_pod(defaulted)
        if faults:
            raise faults_as_invalid(PODS, call.name, faults)

    def change_status(self, call: Call, old: Json, new: Json) -> None:
        part = call.target.subresource
        if part == "status":
            before, after = old.get("status") or {}, new.get("status") or {}
            if before.get("qosClass") and after.get("qosClass") != before["qosClass"]:
                raise invalid(PODS, call.name, [forbidden_field("status.qosClass", "field is immutable")])
            check_container_states(call.name, old["spec"], before, after)
            return
        spec = new.get("spec") or {}
        if part == "ephemeralcontainers":
            kept = {**old["spec"], "ephemeralContainers": spec.get("ephemeralContainers") or []}
        else:
            kept = {**old["spec"], "containers": _resized(old["spec"], spec, "containers")}
            if "initContainers" in old["spec"]:
                kept["initContainers"] = _resized(old["spec"], spec, "initContainers")
        metadata = new["metadata"]
        new.clear()
        new.update({**old, "metadata": metadata, "spec": kept})
        self.read(PODS, new)
        defaulted = default_pod(from_builtins({**new, "status": None}, Pod))
        faults = validate_pod(defaulted)
        if faults:
            raise faults_as_invalid(PODS, call.name, faults)
        new["spec"] = to_builtins(defaulted)["spec"]

    def grace(self, old: Version, options: Json) -> int:
        value = old.object
        if not value["spec"].get("nodeName") or value.get("status", {}).get("phase") in _TERMINAL:
            return 0
        asked = options.get("gracePeriodSeconds")
        if asked is None:
            asked = value["spec"].get("terminationGracePeriodSeconds")
        seconds = DEFAULT_GRACE_S if asked is None else int(asked)
        return seconds if seconds >= 0 else 1

    def is_told_first(self, old: Version) -> bool:
        """A node that runs it has to end it as fast."""
        value = old.object
        return bool(value["spec"].get("nodeName")) and value.get("status", {}).get("phase") not in _TERMINAL


def _resized(old: Json, new: Json, field: str) -> list[Json]:
    """The containers as they were, with the resources that are asked for now."""
    wanted = {one.get("name"): one for one in new.get(field) or ()}
    resized = []
    for container in old.get(field) or ():
        other = wanted.get(container["name"], container)
        changes = {name: other[name] for name in ("resources", "resizePolicy") if name in other}
        resized.append({**container, **changes})
    return resized
