"""Rules of HorizontalPodAutoscalers that no form of the data can say: a function each. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from config.values.quantity import QuantityError, parse_quantity
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.checks import of_containers
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry, same

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_NEED_NO_POD = ("Object", "External")


@check
def one_metric_source(seen: Seen) -> Iterator[Cause]:
    """Beside the source that the type of a metric names there may be no other."""
    there = [name for name in _SOURCES if field_of(seen.value, name) is not None]
    kind = str(field_of(seen.value, "type") or "")
    if len(there) > 1:
        others = (name for name in there if name != kind[:1].lower() + kind[1:])
        yield from (causes.forbidden(seen.join(name), "must populate the given metric source only") for name in others)


@check
def resource_of_containers(seen: Seen) -> Iterator[Cause]:
    yield from of_containers(str(seen.value), seen.path)


@check
def positive_amount(seen: Seen) -> Iterator[Cause]:
    try:
        amount = parse_quantity(str(seen.value))
    except QuantityError:
        return  # Types have been checked.
    if amount.nanos <= 0:
        yield causes.invalid(seen.path, str(amount), "must be positive")


@check
def group_version(seen: Seen) -> Iterator[Cause]:
    if str(seen.value).count("/") > 1:
        yield causes.invalid(seen.path, seen.value, f"unexpected GroupVersion string: {seen.value}")


@check
def version_of_target(seen: Seen) -> Iterator[Cause]:
    """A target has a group, unless it is a ReplicationController or an update leaves it."""
    version = field_of(seen.value, "apiVersion") or ""
    kind = field_of(seen.value, "kind")
    if seen.root_before is not None and all(
        same(now, field_of(seen.before, name)) for name, now in (("apiVersion", version), ("kind", kind))
    ):
        return
    place = seen.at_field("apiVersion")
    found = list(group_version(place))
    if not found and not version.rpartition("/")[0] and kind != "ReplicationController":
        found = [causes.invalid(place.path, version, "apiVersion must specify API group")]
    yield from found


@check
def metric_for_zero(seen: Seen) -> Iterator[Cause]:
    if not any(field_of(one, "type") in _NEED_NO_POD for one in seen.value):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield causes.forbidden(seen.path, why)
