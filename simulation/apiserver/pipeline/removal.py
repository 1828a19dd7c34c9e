"""The way of a deletion: admission, preconditions, then a mark or the end.

An object is removed at once, unless its kind has a grace period (pods) or it has finalizers. Then it is marked, and
removed when the last of them is done. A mark can be moved nearer, never away. The policy for its dependents is a
finalizer too, which the garbage collector handles.
"""

from __future__ import annotations

from collections.abc import Sequence

from config.values.api_time import api_time
from simulation.apiserver.admission import chain
from simulation.apiserver.admission.attributes import DELETE, Attributes
from simulation.apiserver.core import SECOND_NS, seconds_of
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.status import Json, conflict, failed_precondition, success
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.ownership import BACKGROUND, ORPHAN, finalizers_for, policy_of


def review(context: Context, call: ResourceCall, old: Version) -> None:
    """Let admission judge a deletion. Raises StatusError, ReviewWantedError."""
    shown = context.shown(call.resource, old).object
    attributes = Attributes(context.core, context.authorizer, call, DELETE, shown, None, old.managed)
    chain.admit(attributes)
    chain.validate(attributes)


def remove(context: Context, call: ResourceCall, old: Version, options: Json) -> Answer:
    """End an object that `review` has let pass. Raises StatusError (409) for a failed precondition."""
    preconditions = options.get("preconditions")
    if preconditions:
        _check_preconditions(call, old, preconditions)
    strategy = context.strategy(call.resource)
    grace_s = strategy.grace(old, options)
    if call.dry_run:
        return _gone(context, call, old)
    finalizers = old.object["metadata"].get("finalizers")
    if added := [name for name in strategy.holders(old) if name not in (finalizers or ())]:
        finalizers = [*(finalizers or ()), *added]
    if context.core.collects_garbage:
        finalizers = finalizers_for(_policy(call, options, finalizers or ()), finalizers or ())
    if grace_s or finalizers:
        marked = _marked(context, call, old, grace_s, options, finalizers)
        if marked is not old:
            context.follower(call.resource).changed(old, marked)
        return context.answer(call, marked)
    if strategy.is_told_first(old):
        old = _marked(context, call, old, 0, options, finalizers)
    last = context.collection(call.resource).remove(old.key).gone()
    context.follower(call.resource).removed(last)
    return _gone(context, call, last)


def _policy(call: ResourceCall, options: Json, finalizers: Sequence[str]) -> str:
    return policy_of(finalizers, options, ORPHAN if call.resource.orphans else BACKGROUND)


def _gone(context: Context, call: ResourceCall, last: Version) -> Answer:
    if call.resource.delete_answers_object:
        return context.answer(call, last)
    return JsonAnswer(success(call.resource, last.name, last.uid), warnings=tuple(call.warnings))


def _marked(
    context: Context, call: ResourceCall, old: Version, grace_s: int, options: Json, finalizers: Sequence[str] | None
) -> Version:
    """`old` with the time of its end and these finalizers.

    It is `old` itself when it has them already and the end does not come nearer.
    """
    core = context.core
    metadata: Json = dict(old.object["metadata"])
    before_s = metadata.get("deletionGracePeriodSeconds")
    begun_s: int | None = None
    if "deletionTimestamp" not in metadata:
        begun_s = core.wall_ns() // SECOND_NS
        if "generation" in metadata:
            metadata["generation"] += 1
    elif before_s is not None and options.get("gracePeriodSeconds") is not None and grace_s < before_s:
        begun_s = seconds_of(metadata["deletionTimestamp"]) - before_s
    elif (not finalizers and "finalizers" not in metadata) or finalizers == metadata.get("finalizers"):
        return old
    if begun_s is not None:
        metadata["deletionTimestamp"] = api_time((begun_s + grace_s) * SECOND_NS)
        metadata["deletionGracePeriodSeconds"] = grace_s
    if finalizers:
        metadata["finalizers"] = list(finalizers)
    elif "finalizers" in metadata:
        del metadata["finalizers"]
    return context.collection(call.resource).put(old.key, {**old.object, "metadata": metadata})


_OWN_DELETION = frozenset({"namespaces", "customresourcedefinitions.apiextensions.k8s.io"})
"""Kinds whose deletion upstream does not share with others; it has other words."""
_CHECKED = (
    ("uid", "UID", "deleted and then recreated"),
    ("resourceVersion", "ResourceVersion", "modified"),
)


def _check_preconditions(call: ResourceCall, old: Version, preconditions: Json) -> None:
    metadata, resource = old.object["metadata"], call.resource
    for field, name, happened in _CHECKED:
        wanted, found = preconditions.get(field), metadata.get(field, "")
        if not wanted or wanted == found:
            continue
        if resource.store_key in _OWN_DELETION:
            why = f"Precondition failed: {name} in precondition: {wanted}, {name} in object meta: {found}"
            raise conflict(resource, call.name, why)
        raise failed_precondition(resource, call.name, name, wanted, found, happened)
