"""Pods: defaults, admission, permitted changes, and deletion (spec 1.2, 4.5).

It decides how long a pod stays after a DELETE.

A new pod gets the defaults of the API, what admission adds in every cluster, and a status. Its spec hardly changes
afterwards (`pod_changes`); its status belongs to the agent. A bound pod that has not ended stays after a DELETE until
its agent has ended it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from config.caches import KIB, KeptBytes
from config.documents.codec import DocumentError, from_builtins
from config.objects import ApiStruct, PodSpec
from config.pods.identity import CONFIG_MIRROR
from simulation.apiserver.kinds.table import PODS, ServedResource
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.schemas.go_types import GoTypeError
from simulation.apiserver.status import Json, bad_request, forbidden_field, invalid, required
from simulation.apiserver.store.store import Version
from simulation.apiserver.store.structs import knows_change_of_status, read_change_of_pod
from simulation.apiserver.strategies.pod_changes import check_container_states
from simulation.apiserver.strategies.pod_resizes import check_resize, with_asked
from simulation.apiserver.strategies.pod_specs import causes_of_spec, work_out
from simulation.apiserver.strategies.strategy import Strategy, cannot_handle

DEFAULT_GRACE_S = 30
CONDITIONS_BYTES = 256 * KIB
CONDITION_BYTES = 1200
"""What a condition takes in memory, besides its texts. To count it takes longer than to make it."""
_TERMINAL = ("Succeeded", "Failed")
_OF_STATIC_PODS = {
    "ephemeralcontainers": forbidden_field("[]", "static pods do not support ephemeral containers"),
    "resize": forbidden_field("metadata", "static pods cannot be resized"),
}


class PodStrategy(Strategy):
    keeps_unknown = True

    def read(self, resource: ServedResource, value: Json) -> ApiStruct | None:
        try:
            return read_change_of_pod(value)
        except DocumentError:
            return super().read(resource, value)

    def knows_change_of_status(self, old: Version, status: Any) -> bool:
        return knows_change_of_status(old, status)

    def decode(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        super().decode(call, before, value)
        if not isinstance(value.get("spec"), dict):
            raise invalid(PODS, value["metadata"].get("name", ""), [required("spec")])

    def default(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        if before is not None and value["spec"] == before["spec"]:
            value["spec"] = before["spec"]
            return
        try:
            value["spec"] = work_out(value["spec"]).spec
        except GoTypeError as error:
            raise bad_request(f"{cannot_handle(PODS)}: {error}") from None

    def prepare(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        part = call.target.subresource
        if before is None:
            worked = work_out(value["spec"])
            value["spec"] = worked.spec
            value["status"] = {"phase": "Pending", "qosClass": worked.qos}
        elif part in ("", "status"):
            super().prepare(call, before, value)
            if part:
                value["status"] = _with_shared_conditions(value.get("status") or {})
        else:
            asked, name = value["spec"], call.name
            spec = (
                with_asked(name, before["spec"], asked) if part == "resize" else {**before["spec"], **_ephemeral(asked)}
            )
            metadata = value["metadata"]
            value.clear()
            value.update({**before, "metadata": metadata, "spec": spec})

    def causes(
        self, call: ResourceCall, before: Json | None, value: Json, of_rules: Sequence[Cause]
    ) -> Sequence[Cause]:
        """First what is wrong in a new or changed spec; pods of one template are judged once."""
        part, spec = call.target.subresource, value["spec"]
        if part == "status" or (before is not None and spec is before["spec"]):
            return of_rules
        return [*causes_of_spec(spec), *of_rules]

    def validate(self, call: ResourceCall, before: Json | None, value: Json) -> None:
        part, name = call.target.subresource, value["metadata"]["name"]
        if part == "status":
            _check_status(name, before or {}, value)
        elif part and before is not None and value["spec"] is not before["spec"]:
            if CONFIG_MIRROR in (before["metadata"].get("annotations") or ()):
                raise invalid(PODS, name, [_OF_STATIC_PODS[part]])
            if part == "resize":
                qos = (before.get("status") or {}).get("qosClass")
                check_resize(name, before["spec"], value["spec"], from_builtins(value["spec"], PodSpec), qos)

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


def _check_status(name: str, before: Json, value: Json) -> None:
    """Raises StatusError (422)."""
    was, now = before.get("status") or {}, value.get("status") or {}
    if was.get("qosClass") and now.get("qosClass") != was["qosClass"]:
        raise invalid(PODS, name, [forbidden_field("status.qosClass", "field is immutable")])
    check_container_states(name, before["spec"], was, now)


def _with_shared_conditions(status: Json) -> Json:
    """The same status. Pods that become ready in one second have equal conditions, and share them."""
    conditions = status.get("conditions")
    return {**status, "conditions": list(map(_shared_condition, conditions))} if conditions else status


def _shared_condition(condition: Json) -> Json:
    try:
        key = tuple(condition.items())
        return _conditions[key]
    except KeyError:
        texts_bytes = sum(len(text) for text in condition.values() if isinstance(text, str))
        return _conditions.keep(key, condition, CONDITION_BYTES + texts_bytes)
    except (AttributeError, TypeError):  # a fault, which is found later
        return condition


_conditions: KeptBytes[tuple[Any, ...], Json] = KeptBytes(CONDITIONS_BYTES)


def _ephemeral(spec: Json) -> Json:
    return {"ephemeralContainers": spec.get("ephemeralContainers") or []}
