"""Which built-in kinds are served in several versions, and how each version is made of the stored one.

A resource of such a kind names the `storage` of another one. A kube-apiserver works on an internal form of each kind,
to which it converts all versions; here that is the stored version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from simulation.apiserver.kinds.table import ServedResource, find
from simulation.apiserver.versions import autoscalers, events

Json: TypeAlias = dict[str, Any]


class Conversion(msgspec.Struct, frozen=True):
    """One version of a kind.

    `to_stored`: an object of this version in the stored shape; of an object without content (`{}`), one without.
    `from_stored`: the way back. Both leave their argument as it is, and make a top and metadata of their own.
    `is_checked_stored`: whether the server prepares and checks objects of this version in the stored shape, with the
    rules and paths of that one. Else this version has rules of its own.
    """

    to_stored: Callable[[Json], Json]
    from_stored: Callable[[Json], Json]
    is_checked_stored: bool = True


def _of(group: str, version: str, plural: str) -> ServedResource:
    found = find(group, version, plural)
    assert found is not None
    return found


_CONVERSIONS: Mapping[ServedResource, Conversion] = {
    _of("events.k8s.io", "v1", "events"): Conversion(events.to_core, events.from_core, is_checked_stored=False),
    _of("autoscaling", "v1", "horizontalpodautoscalers"): Conversion(autoscalers.to_v2, autoscalers.to_v1),
    # An object of v2 loses the annotations of v1, which would say the same in another way.
    _of("autoscaling", "v2", "horizontalpodautoscalers"): Conversion(autoscalers.from_v2, autoscalers.as_v2),
}


def conversion_of(resource: ServedResource) -> Conversion | None:
    """How the resource shows what is stored; None where it shows the stored object itself."""
    return _CONVERSIONS.get(resource)
