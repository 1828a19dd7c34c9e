"""What is not stored goes: unknown fields, warned of or refused as `fieldValidation` says (400)."""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write


def prune(this: Write) -> None:
    this.strategy.prune(this.call, this.before, this.value)
