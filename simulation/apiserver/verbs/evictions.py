"""The eviction of a pod: a DELETE with options of its own, which the budgets of the pod may refuse.

A budget counts what a disruption controller has written into its status. Without a controller manager nobody has, so an
eviction waits for it, as at a kube-apiserver.
"""

from __future__ import annotations

from simulation.apiserver.admission.webhooks import review_part
from simulation.apiserver.kinds.table import PODS, ServedResource, find
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.removal import remove
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, StatusError, bad_request, forbidden, success
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.budgets import Decision, after_eviction, decide, is_free
from simulation.apiserver.verbs.asked import asked_body
from simulation.webhooks.matching import selects

_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def _budgets() -> ServedResource:
    found = find("policy", "v1", "poddisruptionbudgets")
    assert found is not None
    return found


BUDGETS = _budgets()


def evict(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError (400, 403, 404, 409, 429, 500)."""
    eviction = review_part(context.core.store, call, asked_body(call))
    if (eviction.get("metadata") or {}).get("name", call.name) != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = dict(eviction.get("deleteOptions") or {})
    call.dry_run = call.dry_run or bool(options.get("dryRun"))
    pod = context.find(call)
    if not is_free(pod.object):
        _spend(context, call, pod)
    if not call.dry_run:
        pod = _marked(context, pod)
    remove(context, call, pod, options)
    return JsonAnswer(success(call.resource, call.name, code=201), 201)


def _spend(context: Context, call: ResourceCall, pod: Version) -> None:
    """Ask the budget of the pod, and take one disruption from it. Raises StatusError (403, 429, 500)."""
    labels = pod.object["metadata"].get("labels") or {}
    found = [
        budget
        for budget in context.collection(BUDGETS).in_namespace(pod.namespace)
        if (selector := budget.object["spec"].get("selector")) is not None and selects(selector, labels)
    ]
    if len(found) > 1:
        raise StatusError(500, "", _SEVERAL)
    for budget in found:
        decision = decide(budget.object, pod.object)
        _raise_if_refused(budget.name, decision)
        if decision.spends and not call.dry_run:
            status = after_eviction(budget.object, pod.name, context.core.timestamp())
            value = {**budget.object, "metadata": dict(budget.object["metadata"]), "status": status}
            changed = context.collection(BUDGETS).put(budget.key, value)
            context.follower(BUDGETS).changed(budget, changed)


def _raise_if_refused(name: str, decision: Decision) -> None:
    if decision.forbidden:
        raise forbidden(BUDGETS, name, decision.forbidden)
    if decision.wait:
        details: Json = {"causes": [{"reason": "DisruptionBudget", "message": decision.wait}]}
        if decision.retry_after_s:
            details["retryAfterSeconds"] = decision.retry_after_s
        raise StatusError(429, "TooManyRequests", _TOO_MANY, details, retry_after_s=decision.retry_after_s or None)


def _marked(context: Context, pod: Version) -> Version:
    """The pod with the condition that says why it goes."""
    status = pod.object.get("status") or {}
    others = [each for each in status.get("conditions") or () if each["type"] != "DisruptionTarget"]
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": context.core.timestamp(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    value = {**pod.object, "metadata": dict(pod.object["metadata"])}
    value["status"] = {**status, "conditions": [*others, condition]}
    changed = context.collection(PODS).put(pod.key, value)
    context.follower(PODS).changed(pod, changed)
    return changed
