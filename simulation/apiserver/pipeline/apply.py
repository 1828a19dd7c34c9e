"""Server-side apply: the configuration in the body becomes part of the object, or a new object.

`fields.applying` decides. This stage finds what it works on, and says what is refused.
"""

from __future__ import annotations

from typing import Any

from simulation.apiserver.fields.applying import Applied, Apply, ConflictsError, applied, refusal
from simulation.apiserver.fields.managers import (
    BEFORE_FIRST_APPLY,
    Managed,
    after_update,
    applier,
    last_of_each,
    updater,
)
from simulation.apiserver.fields.merging import ConfigurationError
from simulation.apiserver.fields.resets import changeable, reset
from simulation.apiserver.fields.resources import type_of
from simulation.apiserver.fields.sets import Fields, without_all_below
from simulation.apiserver.pipeline.manage import Changed
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.status import Json, StatusError, bad_request, conflict


def apply(this: Write) -> None:
    """Apply the body to the object before. Raises StatusError (400, 409)."""
    call, resource = this.call, this.call.resource
    configuration = check_configuration_kind(call.object_body(), resource.api_version, resource.kind)
    kind = type_of(resource)
    assert kind is not None, f"no type of {resource.kind}"
    part, now = call.target.subresource, this.context.core.timestamp()

    def allowed(fields: Fields) -> Fields:
        return changeable(resource, part, without_all_below(fields, reset(resource, part)))

    asked = Apply(
        kind=kind,
        api_version=resource.api_version,
        manager=applier(call.query.get("fieldManager", ""), part),
        force=call.flag("force"),
        now=now,
        allowed=allowed,
        changes_of=lambda before, after: Changed(this, before, after, as_they_are=True),
    )
    live = this.before or {"apiVersion": resource.api_version, "kind": resource.kind}
    done = apply_to(asked, live, configuration, _managed(this, live, now))
    this.value, this.managed = done.value, done.managed
    if not resource.is_defined:
        this.value = _without_nulls(this.value)
    uid = (this.value.get("metadata") or {}).get("uid")
    if this.before is None and uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise conflict(resource, call.name, why)


def apply_to(asked: Apply, live: Json, configuration: Json, managed: Managed) -> Applied:
    """Apply a configuration to an object.

    Raises StatusError: 400 for a configuration that does not fit, 409 for conflicts.
    """
    try:
        return applied(asked, live, configuration, managed)
    except ConflictsError as error:
        raise refusal(error.conflicts) from None
    except ConfigurationError as error:
        raise _wrong(configuration, error) from None


def check_configuration_kind(value: Json, api_version: str, kind: str) -> Json:
    """The object in the body, if it is of the kind of the request. Raises StatusError (400)."""
    said, of_kind = value.get("apiVersion") or "", value.get("kind") or ""
    if (said, of_kind) != (api_version, kind):
        raise bad_request(f"invalid object type: {_type(str(said), str(of_kind))}")
    metadata = value.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    return value


def _managed(this: Write, live: Json, now: str) -> Managed:
    """The owners before. Of an object that has none, what is there belongs to those who came before."""
    if this.old is None or this.old.managed:
        return () if this.old is None else last_of_each(this.old.managed)
    resource = this.call.resource
    manager = updater(BEFORE_FIRST_APPLY, resource.api_version, this.call.target.subresource)
    return after_update((), Changed(this, {}, live), manager, now)


def _without_nulls(value: Any) -> Any:
    """The value without fields that are null, which means the same in built-in kinds."""
    if isinstance(value, dict):
        kept = {name: _without_nulls(below) for name, below in value.items() if below is not None}
        same = len(kept) == len(value) and all(kept[name] is below for name, below in value.items())
        return value if same else kept
    if isinstance(value, list):
        items = [_without_nulls(item) for item in value]
        return value if all(one is other for one, other in zip(items, value, strict=True)) else items
    return value


def _type(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    return f"{group}/{version}, Kind={kind}"


def _wrong(configuration: Json, error: ConfigurationError) -> StatusError:
    """The refusal of a configuration that does not fit its type. A kube-apiserver says 500 for it."""
    metadata = configuration.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    what = f"{place}; {_type(configuration['apiVersion'], configuration['kind'])}"
    return bad_request(f"failed to create typed patch object ({what}): {error}")
