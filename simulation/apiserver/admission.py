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

_KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation")


def mutate(store: Store, call: ResourceCall, old: Json | None, new: Json) -> bool:
    """Put the changes of mutating webhooks into `new` and its metadata; return whether there were any.

    Raises StatusError, ReviewWantedError.
    """
    value, metadata = new, new["metadata"]
    for webhook in _webhooks(store, MUTATING):
        patch = list(_verdict(store, call, MUTATING, webhook, old, value).patch)
        try:
            value = apply_json_patch(value, patch) if patch else value
        except PatchError as error:
            raise internal_error(f'the patch of webhook "{webhook.name}" cannot be applied: {error}') from None
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
            _verdict(store, call, stage, webhook, old, new)


def _webhooks(store: Store, stage: str) -> list[Webhook]:
    return webhooks_of(one.object for one in store.of[f"{stage}webhookconfigurations.{GROUP}"].all())


def _verdict(
    store: Store, call: ResourceCall, stage: str, webhook: Webhook, old: Json | None, new: Json | None
) -> Verdict:
    resource, admission = call.resource, call.request.admission
    assert admission is not None
    old, new = (None if one is None else {**one, "apiVersion": resource.api_version} for one in (old, new))
    home = store.get(NAMESPACES.store_key, "", call.namespace)
    its = new or old if resource is NAMESPACES else None if home is None else home.object
    labels = (its or {}).get("metadata", {}).get("labels") or {}
    named = (resource.group, resource.version, resource.plural, call.target.subresource, resource.kind)
    user, where = user_info(call.user), (resource.namespaced, call.namespace, labels)
    asked = Asked(*named, *where, user, call.dry_run, old, new)
    try:
        verdict = admission.verdict(stage, webhook, asked)
    except RefusedError as refusal:
        said = refusal.status
        raise StatusError(refusal.code, said.get("reason", ""), refusal.message, said.get("details")) from None
    call.warnings.extend(verdict.warnings)
    return verdict
