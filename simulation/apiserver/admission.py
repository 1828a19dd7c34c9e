"""Admission of writes by webhooks: the mutating ones first, then the validating ones.

Nothing has happened before all webhooks have answered (see `simulation.webhooks.reviews`). Only the HTTP front reviews
requests: what comes from the process itself (agents, schedulers, loads) has no `Admission`.
"""

from __future__ import annotations

from config.patches import PatchError, apply_json_patch
from simulation.apiserver.requests import ResourceCall, user_info
from simulation.apiserver.resources import NAMESPACES
from simulation.apiserver.status import Json, StatusError, internal_error
from simulation.apiserver.store import Store
from simulation.webhooks.matching import GROUP, Asked, Webhook, webhooks_of
from simulation.webhooks.reviews import MUTATING, VALIDATING, RefusedError, Verdict

_Change = tuple[Json | None, Json | None]
"""The object before and after."""
_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation")


def mutate(store: Store, call: ResourceCall, old: Json | None, new: Json) -> bool:
    """Put the changes of mutating webhooks into `new` and its metadata; return whether there were any.

    Raises StatusError, ReviewWantedError.
    """
    value, metadata = new, new["metadata"]
    for webhook in _webhooks(store, MUTATING):
        value = _patched(webhook, value, _verdict(store, call, MUTATING, webhook, (old, value)))
    if value is new:
        return False
    changed = {**value["metadata"], **{name: metadata[name] for name in _KEPT if name in metadata}}
    metadata.clear()
    metadata.update(changed)
    new.clear()
    new.update({**value, "metadata": metadata})
    return True


def validate(store: Store, call: ResourceCall, old: Json | None, new: Json | None) -> None:
    """Ask validating webhooks, or all if `new` is None (a deletion). Raises as `mutate` does."""
    for stage in (VALIDATING,) if new is not None else (MUTATING, VALIDATING):
        for webhook in _webhooks(store, stage):
            _verdict(store, call, stage, webhook, (old, new))


def review_part(store: Store, call: ResourceCall, body: Json, old: Json | None = None, connects: bool = False) -> Json:
    """What is sent to a part of an object, as webhooks want it. Raises as `mutate` does."""
    for stage in (MUTATING, VALIDATING) if call.request.admission is not None else ():
        for webhook in _webhooks(store, stage):
            body = _patched(webhook, body, _verdict(store, call, stage, webhook, (old, body), connects))
    return body


def _patched(webhook: Webhook, value: Json, verdict: Verdict) -> Json:
    try:
        return apply_json_patch(value, list(verdict.patch)) if verdict.patch else value
    except PatchError as error:
        raise internal_error(f'the patch of webhook "{webhook.name}" cannot be applied: {error}') from None


def _webhooks(store: Store, stage: str) -> list[Webhook]:
    return webhooks_of(one.object for one in store.of[f"{stage}webhookconfigurations.{GROUP}"].all())


def _verdict(
    store: Store, call: ResourceCall, stage: str, webhook: Webhook, change: _Change, connects: bool = False
) -> Verdict:
    old, new = change
    resource, sub, admission = call.resource, call.target.sub, call.request.admission
    assert admission is not None
    is_part = sub is not None and sub.kind != resource.kind
    if not is_part:
        old, new = (None if one is None else {**one, "apiVersion": resource.api_version} for one in (old, new))
    home = store.get(NAMESPACES.store_key, "", call.namespace)
    its = new or old if resource is NAMESPACES else None if home is None else home.object
    labels = (its or {}).get("metadata", {}).get("labels") or {}
    named = (resource.group, resource.version, resource.plural, call.target.subresource, resource.kind)
    user, where = user_info(call.user), (resource.namespaced, call.namespace, labels)
    body_kind = (sub.group, sub.version, sub.kind) if sub is not None and is_part else None
    asked = Asked(*named, *where, user, call.dry_run, old, new, call.name if is_part else "", body_kind, connects)
    try:
        verdict = admission.verdict(stage, webhook, asked)
    except RefusedError as refusal:
        said = refusal.status
        raise StatusError(refusal.code, said.get("reason", ""), refusal.message, said.get("details")) from None
    call.warnings.extend(verdict.warnings)
    return verdict
