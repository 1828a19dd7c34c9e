"""POST of a Binding: a scheduler gives a pod its node."""

from __future__ import annotations

from simulation.apiserver.admission.pod_topology_labels import topology_labels
from simulation.apiserver.admission.webhooks import review_part
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.save import save_change
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ResourceCall, Target, call_to
from simulation.apiserver.status import Json, bad_request, conflict, invalid, required, success
from simulation.apiserver.strategies.pod_specs import on_node
from simulation.apiserver.verbs.asked import asked_body


def bind(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError: 404, 409 when the pod has a node or is being deleted."""
    binding = review_part(context.core.store, call, asked_body(call))
    asked: Json = binding.get("metadata") or {}
    name, target = call.name or str(asked.get("name") or ""), binding.get("target") or {}
    if not target.get("name"):
        raise invalid(PODS, name, [required("target.name")])
    if target.get("kind", "Node") not in ("", "Node"):
        raise bad_request('target.kind: Unsupported value: supported values: "Node", "<empty>"')
    old = context.find(call_to(Target(PODS, call.namespace, name), call.request, call.verb, call.query))
    value = old.object
    spec, status = value["spec"], value.get("status") or {}
    why, uid = "", asked.get("uid")
    if uid and uid != old.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
    elif "deletionTimestamp" in value["metadata"]:
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif old.node:
        why = f'pod {name} is already assigned to node "{old.node}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise conflict(PODS, name, why, "binding")
    condition = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": context.core.timestamp(),
        "observedGeneration": value["metadata"].get("generation", 1),
    }
    others = [one for one in status.get("conditions") or () if one.get("type") != "PodScheduled"]
    metadata = dict(value["metadata"])
    if asked.get("annotations"):
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **asked["annotations"]}
    labels = {**(asked.get("labels") or {}), **topology_labels(context.core, target["name"])}
    if labels:
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
    status = {**status, "conditions": [*others, condition]}
    bound = {**value, "metadata": metadata, "spec": on_node(spec, target["name"]), "status": status}
    if not call.dry_run:
        save_change(context, PODS, old, bound)
    return JsonAnswer(success(PODS, name, code=201), 201)
