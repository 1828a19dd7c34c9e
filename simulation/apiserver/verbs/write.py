"""POST, PUT and PATCH: each finds the object before, and lets the pipeline do the rest."""

from __future__ import annotations

from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.manage import check_manager
from simulation.apiserver.pipeline.patch import check_media
from simulation.apiserver.pipeline.write import write
from simulation.apiserver.requests.answers import ObjectAnswer
from simulation.apiserver.requests.bodies import APPLY, media_of
from simulation.apiserver.requests.calls import ResourceCall
from simulation.apiserver.store.store import Version
from simulation.apiserver.strategies.metadata import check_type


def create(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    check_manager(call)
    return _answered(context, call, None)


def update(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    check_manager(call)
    if not call.target.subresource:
        check_type(call.resource, call.object_body())
    return _answered(context, call, _old(context, call, may_create=call.resource.create_on_update))


def patch(context: Context, call: ResourceCall) -> ObjectAnswer:
    """Raises StatusError."""
    media = media_of(call.request.content_type)
    check_media(call.resource, media)
    check_manager(call, media)
    return _answered(context, call, _old(context, call, may_create=media == APPLY))


def _answered(context: Context, call: ResourceCall, old: Version | None) -> ObjectAnswer:
    return context.answer(call, write(context, call, old), 201 if old is None else 200)


def _old(context: Context, call: ResourceCall, *, may_create: bool) -> Version | None:
    """The object before; None when it is to be created. Raises StatusError (404)."""
    if may_create and not call.target.subresource:
        return context.collection(call.resource).get((call.namespace, call.name))
    return context.find(call)
