"""The body of a request, and the object in it: its type, its name and the types of its fields (400)."""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.status import Json
from simulation.apiserver.strategies.metadata import check_name, check_namespace, is_same, strip_new, typed


def decode_body(this: Write) -> None:
    """Read the object in the body. What a patch does with its body is up to `patch`."""
    if this.call.verb != "patch" or this.before is None:
        this.value = this.call.object_body()


def decode_object(this: Write) -> None:
    """Read the value as an object of the resource; from here on its top and its metadata are its own."""
    call, before = this.call, this.before
    resource = call.resource
    value = this.value = typed(resource.kind, resource.api_version, this.value)
    metadata = value["metadata"]
    if before is None:
        if call.name:
            check_name(call.name, metadata)
            metadata.pop("resourceVersion", None)
        check_namespace(resource, call.namespace, metadata)
        strip_new(metadata)
    elif not is_same(metadata, before["metadata"]):
        check_namespace(resource, before["metadata"].get("namespace", ""), metadata)
        check_name(call.name, metadata)
    if not _is_known(this, value):
        this.strategy.decode(call, before, value)


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
