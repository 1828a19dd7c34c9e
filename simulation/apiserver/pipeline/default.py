"""Values for what an object leaves out."""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write


def default(this: Write) -> None:
    this.strategy.default(this.call, this.before, this.value)
