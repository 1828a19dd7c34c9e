"""The subresource `scale` of a custom resource: wanted and current replicas.

It has the form that all scale subresources share.
"""

from __future__ import annotations

from typing import Any

import msgspec

from simulation.apiserver.admission.webhooks import review_part
from simulation.apiserver.fields.applying import Apply
from simulation.apiserver.fields.comparison import compared
from simulation.apiserver.fields.managers import Managed, after_update, applier, last_of_each, updater
from simulation.apiserver.fields.published import published_type
from simulation.apiserver.fields.scaling import API_VERSION, of_object, of_scale
from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.pipeline.apply import apply_to, check_configuration_kind
from simulation.apiserver.pipeline.context import Context
from simulation.apiserver.pipeline.manage import check_manager, manager_of
from simulation.apiserver.pipeline.patch import check_media, patched
from simulation.apiserver.pipeline.write import write_value
from simulation.apiserver.requests.answers import Answer, JsonAnswer
from simulation.apiserver.requests.bodies import APPLY, media_of
from simulation.apiserver.requests.calls import ResourceCall, Target, call_to
from simulation.apiserver.schemas.json_paths import find_all, names_of, parse_path
from simulation.apiserver.status import Json, bad_request, internal_error, invalid, invalid_value

_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale(context: Context, call: ResourceCall) -> Answer:
    """Read or change the Scale of an object. Raises StatusError."""
    described = call.resource.described
    assert described is not None
    assert described.scale is not None
    old = context.find(call)
    shown = context.shape(call.resource)(old).object
    if call.verb == "get":
        return JsonAnswer(_scale_of(shown, described.scale))
    before, path = _scale_of(shown, described.scale, may_lack=True), described.scale["specReplicasPath"]
    media = media_of(call.request.content_type) if call.verb == "patch" else ""
    check_manager(call, media)
    names = names_of(parse_path(path)) or ()
    owners = of_scale(last_of_each(old.managed), names)
    if media == APPLY:
        wanted, owners = _applied(context, call, before, owners)
    elif call.verb == "patch":
        check_media(call.resource, media_of(call.request.content_type))
        wanted = patched(call, before)
    else:
        wanted = call.object_body()
        if not (wanted.get("metadata") or {}).get("name"):
            why = "was undeterminable: name must be provided"
            raise bad_request(f"the name of the object ({call.name} based on URL) {why}")
    if call.verb == "patch" and wanted == before and next(find_all(shown, parse_path(path)), None) is None:
        raise bad_request(f'the spec replicas field "{path}" cannot be empty')
    if wanted.get("kind", "Scale") != "Scale" or not isinstance(wanted.get("spec") or {}, dict):
        raise bad_request("the body of the request is not a Scale")
    metadata = {**before["metadata"], **(wanted.get("metadata") or {})}
    wanted = review_part(context.core.store, call, {**before, "metadata": metadata, "spec": wanted.get("spec")}, before)
    replicas = (wanted.get("spec") or {}).get("replicas") or 0
    if type(replicas) is not int:
        raise bad_request("Scale: spec.replicas is not a number")
    if replicas < 0:
        field = path if call.resource.is_defined else "spec.replicas"
        cause = invalid_value(field, replicas, "should be a non-negative integer")
        raise invalid(call.resource, call.name, [cause])
    new = _with(shown, names, replicas)
    new["metadata"] = {**shown["metadata"], **{name: metadata[name] for name in ("uid", "resourceVersion")}}
    target = Target(call.resource, call.namespace, call.name)
    request = msgspec.structs.replace(call.request, admission=None)
    whole = call_to(target, request, "update", call.query, call.dry_run)
    if media != APPLY and owners:
        changed = compared(before, {**before, "spec": {"replicas": replicas}}, _scale_type())
        manager = updater(manager_of(call), API_VERSION, "scale")
        owners = after_update(owners, lambda _: changed, manager, context.core.timestamp())
    managed = of_object(last_of_each(old.managed), owners, names, call.resource.api_version)
    version = write_value(context, whole, old, new, managed)
    answer = _scale_of(context.shape(call.resource)(version).object, described.scale)
    return JsonAnswer(answer, warnings=tuple(whole.warnings))


def _scale_type() -> FieldType:
    found = published_type(API_VERSION, "Scale")
    assert found is not None
    return found


def _applied(context: Context, call: ResourceCall, before: Json, owners: Managed) -> tuple[Json, Managed]:
    """The Scale and its owners after a server-side apply. Raises StatusError (400, 409)."""
    configuration = check_configuration_kind(call.object_body(), API_VERSION, "Scale")
    asked = Apply(
        kind=_scale_type(),
        api_version=API_VERSION,
        manager=applier(call.query.get("fieldManager", ""), "scale"),
        force=call.flag("force"),
        now=context.core.timestamp(),
        allowed=lambda fields: fields,
        changes_of=lambda one, other: lambda _: compared(one, other, _scale_type()),
    )
    done = apply_to(asked, before, configuration, owners)
    return done.value, done.managed


def _scale_of(value: Json, paths: Any, *, may_lack: bool = False) -> Json:
    """The Scale of an object.

    Raises StatusError (500) where the object does not say how many replicas it wants, unless it `may_lack` that.
    """
    found = {name: next(find_all(value, parse_path(path)), None) for name, path in paths.items()}
    if found["specReplicasPath"] is None and may_lack:
        found["specReplicasPath"] = 0
    if found["specReplicasPath"] is None:
        raise internal_error(f'the spec replicas field "{paths["specReplicasPath"]}" does not exist')
    status: Json = {"replicas": found["statusReplicasPath"] or 0}
    selector = found.get("labelSelectorPath") or _text_of_selector((value.get("spec") or {}).get("selector"))
    if selector:
        status["selector"] = selector
    metadata = {name: value["metadata"][name] for name in _METADATA if name in value["metadata"]}
    spec = {"replicas": found["specReplicasPath"]} if found["specReplicasPath"] else {}
    return {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status}


def _text_of_selector(selector: Any) -> str:
    """The selector of a built-in kind, as `app=one,tier in (a,b)`; "" for none."""
    if not isinstance(selector, dict):
        return ""
    is_plain = not {"matchLabels", "matchExpressions"} & selector.keys()
    labels = selector if is_plain else selector.get("matchLabels") or {}
    found = [(key, f"{key}={value}") for key, value in labels.items()]
    for one in () if is_plain else selector.get("matchExpressions") or ():
        values = f"({','.join(sorted(one.get('values') or ()))})"
        words = {"In": "{} in {}", "NotIn": "{} notin {}", "Exists": "{}", "DoesNotExist": "!{}"}
        found.append((one["key"], words[one["operator"]].format(one["key"], values)))
    return ",".join(text for _, text in sorted(found))


def _with(value: Json, names: tuple[str, ...], replicas: int) -> Json:
    """A copy with that at the end of the path."""
    first, *rest = names
    return {**value, first: _with(value.get(first) or {}, tuple(rest), replicas) if rest else replicas}
