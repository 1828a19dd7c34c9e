"""Rules of single kinds that no form of the data can say: a function each, as in `checks`. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.checks import labels_of, of_containers, of_quotas
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import (
    label,
    label_key,
    label_value,
    percent,
    subdomain,
)

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)

# --- flow control, access, certificates -----------------------------------------------------------------------------

_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")


@check
def flow_verbs(seen: Seen) -> Iterator[Cause]:
    """`*` stands alone; others are verbs of requests."""
    verbs = seen.value or []
    if "*" in verbs:
        if len(verbs) > 1:
            yield causes.invalid(seen.path, verbs, "if '*' is present, must not specify other verbs")
    elif not set(verbs) <= set(_VERBS):
        yield causes.not_supported(seen.path, verbs, _VERBS)


@check
def flow_path(seen: Seen) -> Iterator[Cause]:
    text = seen.value
    if text == "*":
        return
    if not text:
        yield causes.invalid(seen.path, text, "must not be empty")
    elif not text.startswith("/"):
        yield causes.invalid(seen.path, text, "must start with slash")
    elif " " in text:
        yield causes.invalid(seen.path, text, "must not contain white-space")


@check
def aggregated_selector(seen: Seen) -> Iterator[Cause]:
    if labels_of(seen.value) is None:
        yield causes.invalid(seen.path, None, "invalid label selector.")


@check
def certificate_request(seen: Seen) -> Iterator[Cause]:
    """PEM of a certificate request; what is in it is not looked at."""
    text = seen.value or ""
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in base64.b64decode(text or ""):
        yield causes.invalid(seen.path, seen.value, "PEM block type must be CERTIFICATE REQUEST")


@check
def signer_name(seen: Seen) -> Iterator[Cause]:
    """A DNS name of two parts, a slash and a path: `example.com/signer`."""
    text = seen.value
    host, slash, path = text.partition("/")
    if not slash or "/" in path:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield causes.invalid(seen.path, text, why)
        return
    parts = host.split(".")
    for part in parts:
        yield from (causes.invalid(seen.path, host, f'validating label "{part}": {why}') for why in label(part))
    if len(parts) < 2:
        yield causes.invalid(seen.path, host, "should be a domain with at least two segments separated by dots")
    faults = [] if path and all(label(each) == [] for each in path.split(".")) else subdomain(path)
    for why in faults:
        yield causes.invalid(seen.path, path, f'validating label "{path}": {why}')


@check
def amount_or_percent(seen: Seen) -> Iterator[Cause]:
    """A number of pods, or a share of them."""
    value = seen.value
    if isinstance(value, str):
        yield from (causes.invalid(seen.path, value, why) for why in percent(value))
        if not percent(value) and int(value[:-1]) > 100:
            yield causes.invalid(seen.path, value, "must not be greater than 100%")
    elif isinstance(value, int) and value < 0:
        yield causes.invalid(seen.path, value, causes.NOT_NEGATIVE)


# --- quotas ---------------------------------------------------------------------------------------------------------

_OF_PODS = frozenset(
    {"pods", *(f"{group}{name}" for group in ("", "limits.", "requests.") for name in ("cpu", "memory"))}
)
_OF_CLAIMS = frozenset({"persistentvolumeclaims", "requests.storage"})
_SCOPES = {
    "BestEffort": frozenset({"pods"}),
    "CrossNamespacePodAffinity": _OF_PODS,
    "NotBestEffort": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "Terminating": _OF_PODS,
    "VolumeAttributesClass": _OF_CLAIMS,
}
"""What a quota of that scope may count."""
_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_PLAIN = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")


def _uncounted(spec: Any, scope: str) -> list[str]:
    """Standard resources that the quota counts, and the scope does not have."""
    hard = sorted(name for name in field_of(spec, "hard") or () if not list(of_quotas(name, "")))
    return [name for name in hard if "/" not in name and name not in _SCOPES.get(scope, {name})]


@check
def quota_scopes(seen: Seen) -> Iterator[Cause]:
    scopes, at = field_of(seen.value, "scopes") or [], seen.join("scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield causes.invalid(at, scopes, "unsupported scope")
        for _ in _uncounted(seen.value, scope):
            yield causes.invalid(at, scopes, "unsupported scope applied to resource")
    for pair in _CONFLICTING:
        if set(pair) <= set(scopes):
            yield causes.invalid(at, scopes, "conflicting scopes")


@check
def quota_selector(seen: Seen) -> Iterator[Cause]:
    """Upstream names no item of the list, and shows the selector as a struct of Go."""
    terms = field_of(field_of(seen.value, "scopeSelector"), "matchExpressions") or []
    at, found = seen.join("scopeSelector.matchExpressions"), []
    shown = [
        {"ScopeName": one.get("scopeName", ""), "Operator": one.get("operator", ""), "Values": one.get("values")}
        for one in terms
    ]
    for one in terms:
        scope, operator, values = one.get("scopeName") or "", one.get("operator") or "", one.get("values")
        if scope not in _SCOPES:
            yield causes.invalid(f"{at}.scopeName", scope, "unsupported scope")
        for _ in _uncounted(seen.value, scope):
            yield causes.invalid(at, {"MatchExpressions": shown}, "unsupported scope applied to resource")
        if scope in _PLAIN and operator != "Exists":
            names = ", ".join(f"ResourceQuotaScope{name}" for name in ("Terminating", "NotTerminating", "BestEffort"))
            why = f"{names}, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
            yield causes.invalid(f"{at}.operator", operator, f"must be 'Exists' when scope is any of {why}")
        if operator in ("In", "NotIn"):
            if not values:
                why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                yield causes.required(f"{at}.values", why)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                yield causes.invalid(f"{at}.values", values, why)
        else:
            yield causes.invalid(f"{at}.operator", operator, "not a valid selector operator")
        found.append(scope)
    for pair in _CONFLICTING:
        if set(pair) <= set(found):
            yield causes.invalid(at, field_of(seen.value, "scopes"), "conflicting scopes")


# --- storage and nodes ----------------------------------------------------------------------------------------------


@check
def not_negative_amount(seen: Seen) -> Iterator[Cause]:
    if str(seen.value or "").startswith("-"):
        yield causes.invalid(seen.path, str(seen.value), causes.NOT_NEGATIVE)


@check
def topologies(seen: Seen) -> Iterator[Cause]:
    """Terms of labels, each different from those before it."""
    terms: list[Any] = []
    for number, term in enumerate(seen.value or ()):
        at, keys = f"{seen.path}[{number}].matchLabelExpressions", []
        wanted = {}
        for place, one in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = one.get("key", ""), one.get("values") or []
            if not values:
                yield causes.required(f"{at}[{place}].values")
            for index, value in enumerate(values):
                if value in values[:index]:
                    yield causes.duplicate(f"{at}[{place}].values[{index}]", value)
            yield from (causes.invalid(f"{at}[{place}].key", key, why) for why in label_key(key))
            if key in keys:
                yield causes.duplicate(f"{at}[{place}].key", key)
            keys.append(key)
            wanted[key] = sorted(values)
        if wanted in terms:
            yield causes.duplicate(at, "")
        terms.append(wanted)


@check
def keys_twice(seen: Seen) -> Iterator[Cause]:
    """A key that a driver of a node says twice is a fault of the driver."""
    keys = field_of(seen.value, "topologyKeys") or []
    for number, key in enumerate(keys):
        if key in keys[:number]:
            yield causes.duplicate(seen.path, key)


@check
def standard_overhead(seen: Seen) -> Iterator[Cause]:
    for name in seen.value or {}:
        yield from of_containers(name, f"overhead.limits[{name}]")


@check
def taints(seen: Seen) -> Iterator[Cause]:
    """Upstream calls their place `metadata.taints`."""
    known = []
    for number, one in enumerate(seen.value or ()):
        at, key, effect = f"metadata.taints[{number}]", one.get("key", ""), one.get("effect", "")
        yield from (causes.invalid(f"{at}.key", key, why) for why in label_key(key))
        value = one.get("value") or ""
        yield from (causes.invalid(f"{at}.value", value, why) for why in label_value(value))
        if not effect:
            yield causes.required(f"{at}.effect")
        elif effect not in _EFFECTS:
            yield causes.not_supported(f"{at}.effect", effect, _EFFECTS)
        if (key, effect) in known:
            shown = {"Key": key, "Value": value, "Effect": effect, "TimeAdded": one.get("timeAdded")}
            reason, message, field = causes.duplicate(at, shown)
            yield reason, f"{message}: taints must be unique by key and effect pair", field
        known.append((key, effect))


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


# --- events ---------------------------------------------------------------------------------------------------------

_OLD_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
"""Of events.k8s.io: the names that causes use."""
_UNSET = ("deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount", "deprecatedSource")


@check
def namespace_of_event(seen: Seen) -> Iterator[Cause]:
    """An event is where its object is; that of an object without a namespace is in `default`."""
    where = seen.value["metadata"].get("namespace", "")
    about = (seen.value.get("involvedObject") or seen.value.get("regarding") or {}).get("namespace") or ""
    if about != where and not (not about and where in ("default", "kube-system")):
        yield causes.invalid("involvedObject.namespace", "", "does not match event.namespace")


@check
def event(seen: Seen) -> Iterator[Cause]:
    """A new event of events.k8s.io. The ones of core are not checked so."""
    value = seen.value
    yield from namespace_of_event(seen)
    if not value.get("reportingController"):
        yield causes.required("reportingController")
    yield from (
        causes.invalid("reportingController", value["reportingController"], why)
        for why in (label_key(value["reportingController"]) if value.get("reportingController") else ())
    )
    for name in ("reportingInstance", "action", "reason"):
        if not value.get(name):
            yield causes.required(name)
    kind = value.get("type") or ""
    if kind not in ("Normal", "Warning"):
        yield causes.invalid("type", "", f"has invalid value: {kind}")
    for name in _UNSET:
        found = value.get(name)
        if found and (not isinstance(found, dict) or any(found.values())):
            yield causes.invalid(_OLD_NAMES[name], "", "needs to be unset")
    series = value.get("series")
    if series is not None:
        if (series.get("count") or 0) < 2:
            yield causes.invalid("series.count", "", "should be at least 2")
        if not series.get("lastObservedTime"):
            yield causes.required("series.lastObservedTime")


_FIXED_IN_EVENTS = (
    ("involvedObject", "regarding"),
    ("reason", "reason"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reason", "reason"),
    ("type", "type"),
    ("action", "action"),
    ("related", "related"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)


@check
def event_unchanged(seen: Seen) -> Iterator[Cause]:
    """Only the series of an event of events.k8s.io may change."""
    yield from namespace_of_event(seen)
    for shown, name in _FIXED_IN_EVENTS:
        now, was = field_of(seen.value, name) or None, field_of(seen.before, name) or None
        if now != was:
            yield causes.invalid(shown, now, causes.IMMUTABLE)


# --- devices --------------------------------------------------------------------------------------------------------


@check
def device_constraint(seen: Seen) -> Iterator[Cause]:
    both = [name for name in ("matchAttribute", "distinctAttribute") if field_of(seen.value, name)]
    if len(both) != 1:
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield causes.required(seen.path, why)


@check
def extended_resource(seen: Seen) -> Iterator[Cause]:
    """A name with a domain of its own, which no resource of Kubernetes has."""
    text = seen.value
    if text is None:
        return
    host, slash, name = text.partition("/")
    own = host == "kubernetes.io" or host.endswith(".kubernetes.io") or text.startswith("requests.")
    if not slash or own or label_key(text) or not re.fullmatch("[^/]+", name):
        yield causes.invalid(seen.path, text, "must be a valid extended resource name")


_CHOICES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


@check
def one_node_choice(seen: Seen) -> Iterator[Cause]:
    """A slice says in one way which nodes have its devices."""
    there = [name for name in _CHOICES if field_of(seen.value, name) is not None]
    why = f"exactly one of {', '.join(f'`{name}`' for name in _CHOICES)} is required"
    if not there:
        yield causes.required(seen.path, why)
    elif len(there) > 1:
        shown = "{" + ", ".join(f"`{name}`" for name in there) + "}"
        yield causes.invalid(seen.path, shown, f"{why}, but multiple fields are set")


@check
def nodes_of_device(seen: Seen) -> Iterator[Cause]:
    """A device says which nodes have it only if the slice leaves that to its devices."""
    there = any(field_of(seen.value, name) is not None for name in _CHOICES[:3])
    if there and not field_of(field_of(seen.root, "spec"), "perDeviceNodeSelection"):
        why = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true"
        yield causes.invalid(seen.path, None, f"{why} in the ResourceSlice spec")
