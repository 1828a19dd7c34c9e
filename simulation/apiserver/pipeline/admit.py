"""Admission: plugins may change the object; after validation, they may judge it (`admission.chain`)."""

from __future__ import annotations

from simulation.apiserver.admission import chain
from simulation.apiserver.pipeline.convert import convert
from simulation.apiserver.pipeline.default import default
from simulation.apiserver.pipeline.prune import prune
from simulation.apiserver.pipeline.stage import Write


def admit(this: Write) -> None:
    attributes = this.attributes()
    chain.admit(attributes)
    if attributes.is_foreign:
        this.strategy.decode(this.call, this.before, this.value)
        default(this)
        prune(this)
        convert(this)


def review(this: Write) -> None:
    chain.validate(this.attributes())
