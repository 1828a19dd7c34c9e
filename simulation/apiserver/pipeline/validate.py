"""The rules of every object's metadata, then those of its kind (422)."""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.strategies.metadata import check_finalizers, check_metadata, check_spelling
from simulation.apiserver.strategies.ownership import check_owners


def validate(this: Write) -> None:
    if this.moves_metadata:
        _check_metadata(this)
    this.strategy.validate(this.call, this.before, this.value)


def _check_metadata(this: Write) -> None:
    resource, metadata = this.call.resource, this.value["metadata"]
    was = this.before["metadata"] if this.before is not None else {}
    if this.before is None:
        check_spelling(resource, metadata["name"])
    else:
        check_finalizers(resource, metadata["name"], was, metadata)
    check_metadata(resource, metadata, was)
    if this.context.core.collects_garbage and was.get("ownerReferences") != metadata.get("ownerReferences"):
        check_owners(resource, metadata)
