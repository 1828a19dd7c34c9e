"""Kinds that are served in several versions: the way to the stored shape, in two stages.

A kube-apiserver converts what it has decoded to its internal form, where more may follow from what is there. It
prepares and checks that form. Here that is the stored shape, unless a version has rules of its own.
"""

from __future__ import annotations

from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.versions.conversions import conversion_of


def convert(this: Write) -> None:
    """Make the object what would be read of it."""
    conversion = conversion_of(this.call.resource)
    if conversion is not None:
        stored = conversion.to_stored(this.value)
        value = this.value = conversion.from_stored(stored)
        this.converted = ({**value, "metadata": dict(value["metadata"])}, stored)


def as_stored(this: Write) -> None:
    """From here on the object is in the stored shape.

    If admission has not changed it, it is what `convert` has made: converted once more, it would get the zeros that the
    other version writes where there is nothing.
    """
    conversion = conversion_of(this.call.resource)
    if conversion is None or this.converted is None or not conversion.is_checked_stored:
        return
    shown, stored = this.converted
    this.value = stored if this.value == shown else conversion.to_stored(this.value)
    this.before = None if this.old is None else this.old.object
    this.is_stored = True
