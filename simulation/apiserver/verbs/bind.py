"""POST of a Binding: a scheduler gives a pod its node. And POST of an Eviction, which is a polite DELETE."""

from __future__ import annotations

from simulation.apiserver.kinds.pod_specs import on_node
from simulation.apiserver.requests import Answer, Call, JsonAnswer, Target, call_to
from simulation.apiserver.resources import PODS
from simulation.apiserver.status import Json, bad_request, conflict, invalid, required, success
from simulation.apiserver.verbs.asked import asked_body
from simulation.apiserver.verbs.context import Context
from simulation.apiserver.verbs.delete import delete_object


def bind(context: Context, call: Call) -> Answer:
    """Raises StatusError: 404, 409 when the pod has a node or is on its way out."""
    binding = asked_body(call)
    asked: Json = binding.get("metadata") or {}
    name = call.name or str(asked.get("name") or "")
    target = binding.get("target") or {}
    node = target.get("name")
    if not node:
        raise invalid(PODS, name, [required("target.name")])
    if target.get("kind", "Node") not in ("", "Node"):
        raise bad_request('target.kind: Unsupported value: supported values: "Node", "<empty>"')
    if call.resource is not PODS:
        call = call_to(Target(PODS, call.namespace, name), call.request, call.verb, call.query, call.dry_run)
    old = context.find(call)
    value = old.object
    spec: Json = value["spec"]
    uid = asked.get("uid")
    if uid and uid != old.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old.uid}"
        raise conflict(PODS, name, why, "binding")
    if "deletionTimestamp" in value["metadata"]:
        raise conflict(PODS, name, f"pod {name} is being deleted, cannot be assigned to a host", "binding")
    if old.node:
        why = f'pod {name} is already assigned to node "{old.node}"'
        raise conflict(PODS, name, why, "binding")
    if spec.get("schedulingGates"):
        raise conflict(PODS, name, f"pod {name} has non-empty .spec.schedulingGates", "binding")
    status = value.get("status") or {}
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
    bound: Json = {
        **value,
        "metadata": metadata,
        "spec": on_node(spec, node),
        "status": {**status, "conditions": [*others, condition]},
    }
    if not call.dry_run:
        context.rules(PODS).changed(old, context.core.store.of[PODS.store_key].put(old.key, bound))
    return JsonAnswer(success(PODS, name, code=201), 201)


def evict(context: Context, call: Call) -> Answer:
    """Raises StatusError."""
    eviction = asked_body(call)
    name = call.name
    if (eviction.get("metadata") or {}).get("name", name) != name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = dict(eviction.get("deleteOptions") or {})
    if options.get("dryRun"):
        call.dry_run = True
    delete_object(context, call, context.find(call), options)
    return JsonAnswer(success(PODS, name, code=201), 201)
