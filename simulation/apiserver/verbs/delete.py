"""DELETE of one object or of all selected ones, and the eviction of a pod.

An eviction is a DELETE with options of its own.

An object is removed at once, unless its kind has a grace period (pods) or it has finalizers. Then it is marked, and
removed when the last of them is done. A mark can be moved nearer, never away. The policy for its dependents is a
finalizer too, which the garbage collector handles.
"""

from __future__ import annotations

from collections.abc import Sequence

from config.values.api_time import api_time
from simulation.apiserver.admission import review_part, validate
from simulation.apiserver.core import SECOND_NS, seconds_of
from simulation.apiserver.garbage.ownership import check_policy, finalizers_for, policy_of
from simulation.apiserver.requests import Answer, JsonAnswer, ListAnswer, ResourceCall, Target, call_to
from simulation.apiserver.status import Json, bad_request, conflict, success
from simulation.apiserver.store import Version
from simulation.apiserver.verbs.asked import asked_body, asked_options
from simulation.apiserver.verbs.context import Context


def delete(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError."""
    options, old = options_of(call), context.find(call)
    _review(context, call, old)
    return delete_object(context, call, old, options)


def _review(context: Context, call: ResourceCall, old: Version) -> None:
    """Ask the webhooks about a deletion. Raises StatusError, ReviewWantedError."""
    if call.request.admission is not None:
        validate(context.core.store, call, old.object, None)


def delete_collection(context: Context, call: ResourceCall) -> ListAnswer:
    """Raises StatusError."""
    options = options_of(call)
    options.pop("preconditions", None)
    collection = context.collection(call.resource)
    revision = context.core.store.revision
    found = tuple(collection.select(call.namespace, call.selection()))
    calls = [
        call_to(Target(call.resource, *one.key), call.request, "delete", call.query, call.dry_run) for one in found
    ]
    for one, version in zip(calls, found, strict=True):
        _review(context, one, version)
    for one, version in zip(calls, found, strict=True):
        delete_object(context, one, version, dict(options))
    return ListAnswer(call.resource, tuple(map(context.shape(call.resource), found)), revision)


def evict(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError."""
    eviction = review_part(context.core.store, call, asked_body(call))
    if (eviction.get("metadata") or {}).get("name", call.name) != call.name:
        raise bad_request("name in URL does not match name in Eviction object")
    options = dict(eviction.get("deleteOptions") or {})
    call.dry_run = call.dry_run or bool(options.get("dryRun"))
    delete_object(context, call, context.find(call), options)
    return JsonAnswer(success(call.resource, call.name, code=201), 201)


def options_of(call: ResourceCall) -> Json:
    """The DeleteOptions in body and query. Raises StatusError (400)."""
    options = asked_options(call)
    query = call.query
    if query:
        grace = query.get("gracePeriodSeconds")
        if grace is not None:
            if not grace.removeprefix("-").isdecimal():
                raise bad_request(f'Invalid value: "{grace}": gracePeriodSeconds is not a number')
            options["gracePeriodSeconds"] = int(grace)
        if "propagationPolicy" in query:
            options["propagationPolicy"] = query["propagationPolicy"]
        if "orphanDependents" in query:
            options["orphanDependents"] = call.flag("orphanDependents")
    if "propagationPolicy" in options:
        check_policy(options)
    if options.get("dryRun"):
        call.dry_run = True
    return options


def delete_object(context: Context, call: ResourceCall, old: Version, options: Json) -> Answer:
    """Raises StatusError (409) when a precondition does not hold."""
    preconditions = options.get("preconditions")
    if preconditions:
        _check_preconditions(call, old, preconditions)
    rules = context.rules(call.resource)
    grace_s = rules.grace(old, options)
    if call.dry_run:
        return _gone(context, call, old)
    finalizers = old.object["metadata"].get("finalizers")
    if context.core.collects_garbage:
        finalizers = finalizers_for(policy_of(finalizers or (), options), finalizers or ())
    if grace_s or finalizers:
        marked = _marked(context, call, old, grace_s, options, finalizers)
        if marked is not old:
            rules.changed(old, marked)
        return context.answer(call, marked)
    if rules.is_told_first(old):
        old = _marked(context, call, old, 0, options, finalizers)
    last = context.collection(call.resource).remove(old.key).gone()
    rules.removed(last)
    return _gone(context, call, last)


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


def _check_preconditions(call: ResourceCall, old: Version, preconditions: Json) -> None:
    metadata = old.object["metadata"]
    for field, name in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted = preconditions.get(field)
        if wanted and wanted != metadata.get(field):
            why = (
                f"Precondition failed: {name} in precondition: {wanted}, "
                f"{name} in object meta: {metadata.get(field, '')}"
            )
            raise conflict(call.resource, call.name, why)
