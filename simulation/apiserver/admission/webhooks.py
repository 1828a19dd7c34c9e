"""MutatingAdmissionWebhook and ValidatingAdmissionWebhook.

Nothing has happened before all webhooks have answered (see `simulation.webhooks.reviews`). Only the HTTP front reviews
requests: what comes from the process itself (agents, schedulers, loads) has no `Admission`.
"""

from __future__ import annotations

from config.patches import PatchError, apply_json_patch
from simulation.apiserver.admission.attributes import Attributes, Plugin
from simulation.apiserver.admission.reinvocation import Turn
from simulation.apiserver.kinds.table import NAMESPACES
from simulation.apiserver.requests.calls import ResourceCall, user_info
from simulation.apiserver.status import Json, StatusError, internal_error
from simulation.apiserver.store.store import Store
from simulation.webhooks.matching import GROUP, Asked, Webhook, concerns, webhooks_of
from simulation.webhooks.reviews import MUTATING, VALIDATING, RefusedError, Verdict

_Change = tuple[Json | None, Json | None]
"""The object before and after."""


def admit(this: Attributes) -> None:
    """Put the changes of mutating webhooks into the object. Raises StatusError, ReviewWantedError."""
    if this.call.request.admission is None:
        return
    store = this.core.store
    webhooks = _webhooks(store, MUTATING)
    if not webhooks:
        return
    turn = Turn(this, MUTATING_PLUGIN.name)
    old, value = begun = this.whole()
    for webhook in webhooks:
        if not concerns(webhook.fields, asked_of(store, this.call, old, value)) or not turn.is_for(webhook.key):
            continue
        verdict = _verdict(store, this.call, MUTATING, webhook, (old, value), again=this.is_again)
        patched = None if value is None else _patched(webhook, value, verdict)
        turn.ran(webhook.key, changed=patched != value, policy=webhook.fields.get("reinvocationPolicy"))
        value = patched
    if value is not None and value is not begun[1]:
        this.become(value)
    turn.end()


def validate(this: Attributes) -> None:
    """Ask the validating webhooks. Raises StatusError, ReviewWantedError."""
    if this.call.request.admission is not None:
        for webhook in _webhooks(this.core.store, VALIDATING):
            _verdict(this.core.store, this.call, VALIDATING, webhook, this.whole())


MUTATING_PLUGIN = Plugin("MutatingAdmissionWebhook", admit=admit)
VALIDATING_PLUGIN = Plugin("ValidatingAdmissionWebhook", validate=validate)


def review_part(store: Store, call: ResourceCall, body: Json, old: Json | None = None, connects: bool = False) -> Json:
    """What is sent to a part of an object, as webhooks want it. Raises StatusError, ReviewWantedError."""
    for stage in (MUTATING, VALIDATING) if call.request.admission is not None else ():
        for webhook in _webhooks(store, stage):
            body = _patched(webhook, body, _verdict(store, call, stage, webhook, (old, body), connects=connects))
    return body


def asked_of(store: Store, call: ResourceCall, old: Json | None, new: Json | None, connects: bool = False) -> Asked:
    """The request, as the rules of webhooks and policies see it."""
    resource, sub = call.resource, call.target.sub
    is_part = sub is not None and sub.kind != resource.kind
    home = store.get(NAMESPACES.store_key, "", call.namespace)
    its = new or old if resource is NAMESPACES else None if home is None else home.object
    labels = (its or {}).get("metadata", {}).get("labels") or {}
    named = (resource.group, resource.version, resource.plural, call.target.subresource, resource.kind)
    user, where = user_info(call.user), (resource.namespaced, call.namespace, labels)
    body_kind = (sub.group, sub.version, sub.kind) if sub is not None and is_part else None
    return Asked(*named, *where, user, call.dry_run, old, new, call.name if is_part else "", body_kind, connects)


def _patched(webhook: Webhook, value: Json, verdict: Verdict) -> Json:
    try:
        return apply_json_patch(value, list(verdict.patch)) if verdict.patch else value
    except PatchError as error:
        raise internal_error(f'the patch of webhook "{webhook.name}" cannot be applied: {error}') from None


def _webhooks(store: Store, stage: str) -> list[Webhook]:
    return webhooks_of(one.object for one in store.of[f"{stage}webhookconfigurations.{GROUP}"].all())


def _verdict(
    store: Store,
    call: ResourceCall,
    stage: str,
    webhook: Webhook,
    change: _Change,
    *,
    connects: bool = False,
    again: bool = False,
) -> Verdict:
    admission = call.request.admission
    assert admission is not None
    asked = asked_of(store, call, *change, connects=connects)
    try:
        verdict = admission.verdict(stage, webhook, asked, again)
    except RefusedError as refusal:
        said = refusal.status
        raise StatusError(refusal.code, said.get("reason", ""), refusal.message, said.get("details")) from None
    call.warnings.extend(verdict.warnings)
    return verdict
