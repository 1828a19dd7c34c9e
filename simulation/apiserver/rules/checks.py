"""Rules of built-in kinds that no form of the data can say: a function each.

The data uses the name of the function. A function gets the place where the rule stands, and yields the causes of a
refusal. Pure.
"""

from __future__ import annotations

import json
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Any

from config.values.quantity import ZERO, of_value
from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import explained, label_key, label_value, subdomain
from simulation.quotas.resource_lists import read

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)


@check
def labels(seen: Seen) -> Iterator[Cause]:
    """Each cause names the whole map, not the label."""
    for key, value in (seen.value or {}).items():
        yield from (causes.invalid(seen.path, key, why) for why in label_key(key))
        yield from (causes.invalid(seen.path, value, why) for why in label_value(value))


@check
def template_fits_selector(seen: Seen) -> Iterator[Cause]:
    """The labels of a pod template must be selected by a selector that is good and says something."""
    selector, template = field_of(seen.value, "selector"), field_of(seen.value, "template")
    wanted = labels_of(selector)
    if wanted is None or not template or not selector:
        return
    found = field_of(field_of(template, "metadata"), "labels")
    if (wanted or field_of(selector, "matchExpressions")) and not is_selected(selector, found or {}):
        why = "`selector` does not match template `labels`"
        yield causes.invalid(seen.join("template.metadata.labels"), found or None, why)


@check
def good_selector(seen: Seen) -> Iterator[Cause]:
    """What cannot be turned into a selector is refused as a whole, too."""
    if seen.value and labels_of(seen.value) is None:
        yield causes.invalid(seen.path, seen.value, "invalid label selector")


_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def labels_of(selector: Any) -> Mapping[str, str] | None:
    """The labels that a selector wants; None for one that is not understood."""
    for one in field_of(selector, "matchExpressions") or ():
        operator, values = one.get("operator"), one.get("values") or ()
        if operator not in _OPERATORS or bool(values) != (operator in _OPERATORS[:2]) or label_key(one.get("key", "")):
            return None
    labels = field_of(selector, "matchLabels") or {}
    good = not any(label_key(key) or label_value(value) for key, value in labels.items())
    return labels if good else None


def is_selected(selector: Any, labels: Mapping[str, str]) -> bool:
    """Whether a good selector takes these labels."""
    wanted: Mapping[str, str] = field_of(selector, "matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    for one in field_of(selector, "matchExpressions") or ():
        key, values = one["key"], one.get("values") or ()
        has = {
            "In": labels.get(key) in values,
            "NotIn": labels.get(key) not in values,
            "Exists": key in labels,
            "DoesNotExist": key not in labels,
        }
        if not has[one["operator"]]:
            return False
    return True


@check
def fields_of_schedule(seen: Seen) -> Iterator[Cause]:
    """A schedule of cron has five fields, or is a word such as `@daily`."""
    text = seen.value or ""
    fields = text.split()
    if not text.startswith("@") and len(fields) != 5:
        why = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        yield causes.invalid(seen.path, text, why)


@check
def time_zone(seen: Seen) -> Iterator[Cause]:
    if seen.value == "":
        yield causes.invalid(seen.path, "", "timeZone must be nil or non-empty string")
    elif seen.value and not _is_zone(seen.value):
        yield causes.invalid(seen.path, seen.value, f"unknown time zone {seen.value}")


def _is_zone(name: str) -> bool:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


@check
def domain_prefixed_path(seen: Seen) -> Iterator[Cause]:
    """A DNS name, a slash and a path: `acme.io/foo`."""
    host, slash, path = (seen.value or "").partition("/")
    if not seen.value:
        yield causes.required(seen.path)
    elif not (slash and host and path):
        yield causes.invalid(seen.path, seen.value, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (causes.invalid(seen.path, host, why) for why in subdomain(host))
        pattern = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
        if not re.fullmatch(pattern, path):
            yield causes.invalid(seen.path, path, explained("Invalid path", pattern))


@check
def name_of_service(seen: Seen) -> Iterator[Cause]:
    """An APIService is named for its version and group."""
    spec = field_of(seen.value, "spec")
    wanted = f"{field_of(spec, 'version') or ''}.{field_of(spec, 'group') or ''}"
    metadata = seen.value["metadata"]
    for name in ("generateName", "name"):
        if metadata.get(name) and metadata[name] != wanted:
            why = f'must be `spec.version+"."+spec.group`: "{wanted}"'
            yield causes.invalid(f"metadata.{name}", metadata[name], why)


@check
def three_segments(seen: Seen) -> Iterator[Cause]:
    """The name of a webhook."""
    text = seen.value or ""
    faults = subdomain(text)
    if faults:
        yield causes.invalid(seen.path, text, ",".join(faults))
    elif len(text.split(".")) < 3:
        yield causes.invalid(seen.path, text, "should be a domain with at least three segments separated by dots")


@check
def review_versions(seen: Seen) -> Iterator[Cause]:
    versions = seen.value or []
    for number, version in enumerate(versions):
        if version in versions[:number]:
            yield causes.invalid(f"{seen.path}[{number}]", version, "duplicate version")
    if versions and not {"v1", "v1beta1"} & set(versions):
        yield causes.invalid(seen.path, versions, "must include at least one of v1, v1beta1")


@check
def no_others_beside_all(seen: Seen) -> Iterator[Cause]:
    """`*` among operations stands alone."""
    if "*" in (seen.value or ()) and len(seen.value) > 1:
        yield causes.invalid(seen.path, seen.value, "if '*' is present, must not specify other operations")


@check
def webhook_url(seen: Seen) -> Iterator[Cause]:
    form = "; desired format: https://host[/path]"
    if seen.value is None:
        return
    scheme, _, rest = seen.value.partition("://")
    if scheme != "https":
        yield causes.invalid(
            seen.path, "" if "://" not in seen.value else scheme, f"'https' is the only allowed URL scheme{form}"
        )
    if not rest.partition("/")[0]:
        yield causes.invalid(seen.path, "", f"host must be specified{form}")


_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_NOT_ABOVE = (
    ("min", "max", ("min", "min"), "min value {} is greater than max value {}"),
    ("min", "defaultRequest", 2 * ("defaultRequest",), "min value {} is greater than default request value {}"),
    ("defaultRequest", "max", 2 * ("defaultRequest",), "default request value {} is greater than max value {}"),
    (
        "defaultRequest",
        "default",
        2 * ("defaultRequest",),
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", ("default", "min"), "min value {} is greater than default value {}"),
    ("default", "max", ("default", "max"), "default value {} is greater than max value {}"),
)
"""Of a limit: what may not be above what, then of the refusal its place, its value and its words."""


@check
def limit_item(seen: Seen) -> Iterator[Cause]:
    """Names and bounds of one limit of a LimitRange."""
    item, amounts = seen.value or {}, {name: read((seen.value or {}).get(name)) for name in _LIMITS}
    for field in _LIMITS if item.get("type") in ("Pod", "Container") else ():
        for name in item.get(field) or {}:
            yield from of_containers(name, f"{seen.path}.{field}[{name}]")
    for name in sorted({name for each in amounts.values() for name in each}):
        for low, high, (place, shown), words in _NOT_ABOVE:
            least, most = amounts[low].get(name), amounts[high].get(name)
            if least is not None and most is not None and least > most:
                field, value = f"{seen.path}.{place}[{name}]", str(amounts[shown][name])
                yield causes.invalid(field, value, words.format(least, most))
        ratio = amounts["maxLimitRequestRatio"].get(name)
        if ratio is not None and ratio < of_value(1):
            field = f"{seen.path}.maxLimitRequestRatio[{name}]"
            yield causes.invalid(field, str(ratio), f"ratio {ratio} is less than 1")


def of_containers(name: str, field: str) -> Iterator[Cause]:
    """The faults of the name of a resource of containers."""
    faults = label_key(name)
    yield from (causes.invalid(field, name, why) for why in faults)
    if faults or "/" in name:
        return
    if name not in _STANDARD and not name.startswith("hugepages-"):
        yield causes.invalid(field, name, "must be a standard resource type or fully qualified")
    if name not in _OF_CONTAINERS and not name.startswith("hugepages-"):
        yield causes.invalid(field, name, "must be a standard resource for containers")


_OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {"pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps", "persistentvolumeclaims"}
)
_OF_QUOTAS = (
    _OF_CONTAINERS
    | _COUNTED
    | {f"{group}.{name}" for group in ("requests", "limits") for name in _OF_CONTAINERS}
    | {"requests.storage", "services.nodeports", "services.loadbalancers"}
)
_STANDARD = _OF_QUOTAS | {"storage"}
_LIMIT_TYPES = frozenset({"Pod", "Container", "PersistentVolumeClaim"})


@check
def quota_resources(seen: Seen) -> Iterator[Cause]:
    for name, amount in read(seen.value).items():
        field = f"{seen.path}[{name}]"
        yield from of_quotas(name, field)
        if str(amount).startswith("-"):
            yield causes.invalid(field, str(amount), causes.NOT_NEGATIVE)


def of_quotas(name: str, field: str) -> Iterator[Cause]:
    """The faults of the name of a resource that a quota counts."""
    faults = label_key(name)
    yield from (causes.invalid(field, name, why) for why in faults)
    if not faults and "/" not in name and name not in _OF_QUOTAS and not name.startswith("requests.hugepages-"):
        if name not in _STANDARD and not name.startswith("hugepages-"):
            yield causes.invalid(field, name, "must be a standard resource type or fully qualified")
        yield causes.invalid(field, name, "must be a standard resource for quota")


@check
def limit_type(seen: Seen) -> Iterator[Cause]:
    text = seen.value or ""
    faults = label_key(text)
    yield from (causes.invalid(seen.path, text, why) for why in faults)
    if not faults and "/" not in text and text not in _LIMIT_TYPES:
        yield causes.invalid(seen.path, text, "must be a standard limit type or fully qualified")


@check
def claim_change(seen: Seen) -> Iterator[Cause]:
    """A claim may get its volume; a bound one may grow, and get another class of attributes.

    It shrinks only while it grows: to more than it has.
    """
    now, was = dict(seen.value or {}), dict(seen.before or {})
    if seen.root_before is None:
        return
    free = [] if was.get("volumeName") else ["volumeName"]
    if (seen.root_before.get("status") or {}).get("phase") == "Bound":
        free += ["resources", "volumeAttributesClassName"]
    for name in free:
        now.pop(name, None)
        was.pop(name, None)
    if json.dumps(now, sort_keys=True) != json.dumps(was, sort_keys=True):
        why = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield causes.forbidden(seen.path, f"{why}\n{causes.difference(was, now)}")
        return
    size, before = (_storage(field_of(field_of(spec, "resources"), "requests")) for spec in (seen.value, seen.before))
    if size < before and size <= _storage(field_of(seen.root_before.get("status"), "capacity")):
        yield causes.forbidden(seen.join("resources.requests.storage"), "field can not be less than status.capacity")


def _storage(amounts: Any) -> int:
    return read(amounts).get("storage", ZERO).nanos


@check
def non_resource_urls(seen: Seen) -> Iterator[Cause]:
    """A rule of a role is for resources or for paths; one of a Role is for resources."""
    rule = seen.value or {}
    urls = rule.get("nonResourceURLs")
    if not rule.get("verbs"):
        yield causes.required(seen.join("verbs"), "verbs must contain at least one value")
    if urls:
        if seen.root.get("kind") == "Role":
            why = "namespaced rules cannot apply to non-resource URLs"
            yield causes.invalid(seen.join("nonResourceURLs"), urls, why)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            yield causes.invalid(seen.join("nonResourceURLs"), urls, why)
        return
    for name, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(name):
            yield causes.required(seen.join(name), f"resource rules must supply at least one {what}")


@check
def storage_capacity(seen: Seen) -> Iterator[Cause]:
    """A volume has a capacity for storage and nothing else."""
    capacity, at = field_of(seen.value, "capacity"), seen.join("capacity")
    if not capacity:
        yield causes.required(at)
    if list(capacity or {}) != ["storage"]:
        yield causes.not_supported(at, capacity, ("storage",))
    for name, amount in read(capacity).items():
        if amount.is_zero() or str(amount).startswith("-"):
            yield causes.invalid(f"{at}[{name}]", str(amount), "must be greater than zero")


@check
def toleration(seen: Seen) -> Iterator[Cause]:
    """A taint that a pod tolerates."""
    one = seen.value or {}
    key, operator, effect = one.get("key"), one.get("operator") or "", one.get("effect")
    if key:
        yield from (causes.invalid(seen.join("key"), key, why) for why in label_key(key))
    if not key and operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield causes.invalid(seen.join("operator"), operator, why)
    if one.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield causes.invalid(seen.join("effect"), effect or "", why)
    if operator in ("", "Equal"):
        value = one.get("value") or ""
        yield from (causes.invalid(seen.join("operator"), value, why) for why in label_value(value))
    elif operator == "Exists":
        if one.get("value"):
            why = "value must be empty when `operator` is 'Exists'"
            yield causes.invalid(seen.join("operator"), one["value"], why)
    else:
        yield causes.not_supported(seen.join("operator"), operator, ("Equal", "Exists"))
    if effect and effect not in _EFFECTS:
        yield causes.not_supported(seen.join("effect"), effect, _EFFECTS)


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@check
def template_fits_labels(seen: Seen) -> Iterator[Cause]:
    """The selector of a ReplicationController is a map of labels."""
    selector, template = field_of(seen.value, "selector"), field_of(seen.value, "template")
    if not selector or not template:
        return
    found = field_of(field_of(template, "metadata"), "labels") or {}
    if any(found.get(key) != value for key, value in selector.items()):
        why = "`selector` does not match template `labels`"
        yield causes.invalid(seen.join("template.metadata.labels"), found or None, why)


@check
def template_of_job_without_selector(seen: Seen) -> Iterator[Cause]:
    """A Job without a selector selects nothing, not even its own pods."""
    if field_of(seen.value, "selector") is None:
        found = field_of(field_of(field_of(seen.value, "template"), "metadata"), "labels")
        why = "`selector` does not match template `labels`"
        yield causes.invalid(seen.join("template.metadata.labels"), found or None, why)


@check
def json_object(seen: Seen) -> Iterator[Cause]:
    """Any object of JSON."""
    if seen.value is not None and not isinstance(seen.value, dict):
        yield causes.required(seen.path, "data must be a valid JSON object")
