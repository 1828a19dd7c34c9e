"""The rules of every object's metadata, then those of its kind (422)."""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.engine import Kind, causes_of, kind_rules
from simulation.apiserver.rules.metadata import causes_of_change, causes_of_new
from simulation.apiserver.status import invalid


def validate(this: Write) -> None:
    """Refuse an object with all faults that the rules and the strategy find.

    Then the strategy looks at what these let pass. Raises StatusError (422).
    """
    resource, value = this.call.resource, this.value
    kind = kind_rules(value["apiVersion"], resource.kind)
    of_kind = this.strategy.causes(this.call, this.before, value, _of_kind(this, kind))
    found = [*_of_metadata(this, kind), *of_kind]
    if found:
        raise invalid(resource, value["metadata"]["name"], found)
    this.strategy.validate(this.call, this.before, value)


def _of_metadata(this: Write, kind: Kind) -> list[Cause]:
    if not this.moves_metadata:
        return []
    metadata = this.value["metadata"]
    if this.before is None:
        return causes_of_new(kind.metadata, metadata)
    return causes_of_change(kind.metadata, metadata, this.before["metadata"])


def _of_kind(this: Write, kind: Kind) -> list[Cause]:
    part = this.call.target.subresource
    rules = kind.rules if not part else kind.status if part == "status" else ()
    return causes_of(rules, this.value, this.before) if rules else []
