"""The body of a request, and the object in it: its type, its name and the types of its fields (400)."""

from __future__ import annotations

from simulation.apiserver.fields.comparison import without_left_out
from simulation.apiserver.fields.resources import type_of
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.schemas.go_types import GoTypeError, check_metadata, check_types, with_amounts_as_text
from simulation.apiserver.status import Json, StatusError, bad_request, conflict
from simulation.apiserver.strategies.metadata import check_name, check_namespace, is_same, strip_new, typed
from simulation.apiserver.strategies.strategy import cannot_handle


def decode_body(this: Write) -> None:
    """Read the object in the body. What a patch does with its body is up to `patch`."""
    if this.call.verb != "patch" or this.before is None:
        this.value = this.call.object_body()


def decode_object(this: Write) -> None:
    """Read the value as an object of the resource; from here on its top and its metadata are its own."""
    call, before = this.call, this.before
    resource = call.resource
    sent = this.value.get("metadata")
    this.sent_managed = sent.get("managedFields") if isinstance(sent, dict) else None
    value = this.value = typed(resource, _said(this))
    metadata = value["metadata"]
    if before is None:
        if call.name:
            check_name(call.name, metadata)
            if call.verb == "patch" and metadata.get("uid"):
                why = f"the provided object specified uid {metadata['uid']}, and no existing object was found"
                raise conflict(resource, call.name, f"uid mismatch: {why}")
            metadata.pop("resourceVersion", None)
        check_namespace(resource, call.namespace, metadata)
        strip_new(metadata, dry_run=call.dry_run)
    elif not is_same(metadata, before["metadata"]):
        check_namespace(resource, before["metadata"].get("namespace", ""), metadata)
        check_name(call.name, metadata)
    if not _is_known(this, value):
        _decode(this, value, is_sent=isinstance(call.request.body, bytes))


def decode_changed(this: Write) -> None:
    """Read the value again, which a policy or a webhook has changed, as if a client had sent it."""
    value, kind = this.value, type_of(this.call.resource)
    if kind is not None and not this.call.resource.is_defined:
        said = without_left_out(value, kind)
        if said is not value:
            value.clear()
            value.update({**said, "metadata": dict(said.get("metadata") or {})})
    _decode(this, value, is_sent=True)


def _decode(this: Write, value: Json, *, is_sent: bool) -> None:
    """Check types and unknown fields. In-process clients send what their own types allow."""
    call, resource = this.call, this.call.resource
    if resource is not PODS and (is_sent or resource.described is not None):
        _check_types(this, value)
    try:
        this.strategy.decode(call, this.before, value)
    except StatusError:
        if is_sent and resource is PODS:
            _check_types(this, value)  # A struct knows all types of a pod; Go has words for them.
        raise


def _check_types(this: Write, value: Json) -> None:
    """Say in Go's words what has the wrong type, where the object is not as before.

    Raises StatusError (400).
    """
    resource, before = this.call.resource, this.before or {}
    changed = {name: part for name, part in value.items() if part is not before.get(name)}
    try:
        if not resource.is_defined:
            check_types(resource.api_version, resource.kind, changed)
            value.update(with_amounts_as_text(resource.api_version, resource.kind, changed))
        check_metadata(value["metadata"])
    except GoTypeError as error:
        raise bad_request(f"{cannot_handle(resource)}: {error}") from None


def _said(this: Write) -> Json:
    """The value without what says nothing: null, and empty lists and maps that a built-in kind leaves out.

    Programs that stand beside the server leave them out themselves.
    """
    resource, value = this.call.resource, this.value
    kind = None if resource.is_defined or not isinstance(this.call.request.body, bytes) else type_of(resource)
    return value if kind is None else without_left_out(value, kind, this.before)


def _is_known(this: Write, value: Json) -> bool:
    """Whether only a status has changed, which the strategy knows. Agents write little else."""
    call, before, old = this.call, this.before, this.old
    return (
        old is not None
        and before is not None
        and call.target.subresource == "status"
        and not call.query
        and value.get("spec") is before.get("spec")
        and value.keys() - before.keys() <= {"status"}
        and is_same(value["metadata"], before["metadata"])
        and this.strategy.knows_change_of_status(old, value.get("status"))
    )
