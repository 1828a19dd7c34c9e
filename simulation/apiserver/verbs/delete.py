"""DELETE of one object or of all selected ones."""

from __future__ import annotations

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.removal import remove, review
from simulation.apiserver.requests.answers import Answer, ListAnswer
from simulation.apiserver.requests.calls import ApiRequest, ResourceCall, Target, call_to
from simulation.apiserver.requests.options import check_dry_run, whole_number
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.ownership import BACKGROUND, check_policy
from simulation.apiserver.verbs.asked import asked_options
from simulation.apiserver.verbs.read import answer_of, listed


def delete(context: Context, call: ResourceCall) -> Answer:
    """Raises StatusError."""
    options, old = options_of(call), context.find(call)
    review(context, call, old)
    return remove(context, call, old, options)


def delete_collection(context: Context, call: ResourceCall) -> ListAnswer:
    """Raises StatusError."""
    options = options_of(call)
    page = listed(context, call)
    found = tuple(now for one in page.versions if (now := context.collection(call.resource).get(one.key)) is not None)
    calls = [
        call_to(Target(call.resource, *one.key), call.request, "delete", call.query, call.dry_run) for one in found
    ]
    for one, version in zip(calls, found, strict=True):
        review(context, one, version)
    for one, version in zip(calls, found, strict=True):
        remove(context, one, version, dict(options))
    return answer_of(context, call, page)


def empty(context: Context, resource: ServedResource, namespace: str) -> None:
    """Delete every object of a resource in a namespace, or everywhere, as the server's controllers do.

    Admission is not asked: a webhook would hold up the controllers.
    """
    request = ApiRequest("DELETE", "", body={"propagationPolicy": BACKGROUND})
    call = call_to(Target(resource, namespace, ""), request, "deletecollection", {})
    for version in tuple(context.collection(resource).select(namespace, call.selection())):
        one = call_to(Target(resource, *version.key), request, "delete", {})
        remove(context, one, version, {"propagationPolicy": BACKGROUND})


def options_of(call: ResourceCall) -> Json:
    """The DeleteOptions in body and query. Raises StatusError (400)."""
    options = asked_options(call)
    query = call.query
    if query:
        grace = whole_number("gracePeriodSeconds", query)
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if "propagationPolicy" in query:
            options["propagationPolicy"] = query["propagationPolicy"]
        if "orphanDependents" in query:
            options["orphanDependents"] = call.flag("orphanDependents")
    check_dry_run(options.get("dryRun"))
    if "propagationPolicy" in options:
        check_policy(options)
    if options.get("dryRun"):
        call.dry_run = True
    if call.resource.orphan_warning and options.keys().isdisjoint(("propagationPolicy", "orphanDependents")):
        call.warnings.append(call.resource.orphan_warning)
    return options
