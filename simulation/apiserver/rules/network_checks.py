"""Rules of networking that no form of the data can say: a function each, as in `checks`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simulation.apiserver.rules import causes
from simulation.apiserver.rules.causes import Cause
from simulation.apiserver.rules.seen import Check, Seen, field_of, registry
from simulation.apiserver.rules.spelling import address, network, port_name, subdomain, wildcard_subdomain

CHECKS: dict[str, Check] = {}
"""The functions by the names that rules use."""
check = registry(CHECKS)


@check
def named_ports(seen: Seen) -> Iterator[Cause]:
    """With several ports, each needs a name."""
    ports = field_of(seen.value, "ports") or []
    for number, port in enumerate(ports):
        if len(ports) > 1 and not port.get("name"):
            yield causes.required(f"{seen.join('ports')}[{number}].name")


@check
def unique_names(seen: Seen) -> Iterator[Cause]:
    """Items have different names; no name is one, too."""
    known: list[str] = []
    for number, item in enumerate(seen.value or ()):
        name = item.get("name") or ""
        if name in known:
            yield causes.duplicate(f"{seen.path}[{number}].name", name)
        known.append(name)


@check
def slice_addresses(seen: Seen) -> Iterator[Cause]:
    """Addresses are of the type that the slice says."""
    kind = field_of(seen.value, "addressType")
    for number, endpoint in enumerate(field_of(seen.value, "endpoints") or ()):
        for place, text in enumerate(endpoint.get("addresses") or ()):
            at = f"endpoints[{number}].addresses[{place}]"
            if kind == "FQDN":
                yield from (causes.invalid(at, text, why) for why in subdomain(text))
                continue
            faults = address(text)
            yield from (causes.invalid(at, text, why) for why in faults)
            if not faults and kind in ("IPv4", "IPv6") and (":" in text) != (kind == "IPv6"):
                yield causes.invalid(at, text, f"must be an {kind} address")


@check
def ingress_host(seen: Seen) -> Iterator[Cause]:
    text = seen.value
    if not text:
        return
    if address(text) == ():
        yield causes.invalid(seen.path, text, "must be a DNS name, not an IP address")
        return
    form = wildcard_subdomain if "*" in text else subdomain
    yield from (causes.invalid(seen.path, text, why) for why in form(text))


_BAD_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")


@check
def absolute_path(seen: Seen) -> Iterator[Cause]:
    text = seen.value or ""
    if not text.startswith("/"):
        yield causes.invalid(seen.path, text, "must be an absolute path")
        return
    for bad in _BAD_IN_PATHS:
        if bad in text:
            yield causes.invalid(seen.path, text, f"must not contain '{bad}'")
    for bad in ("/..", "/."):
        if text.endswith(bad):
            yield causes.invalid(seen.path, text, f"cannot end with '{bad}'")


@check
def port_or_name(seen: Seen) -> Iterator[Cause]:
    value = seen.value
    if isinstance(value, str):
        yield from (causes.invalid(seen.path, value, why) for why in port_name(value))
    elif isinstance(value, int) and not 1 <= value <= 65535:
        yield causes.invalid(seen.path, value, "must be between 1 and 65535, inclusive")


@check
def cidrs_unchanged(seen: Seen) -> Iterator[Cause]:
    """A second network may be added; all else stays."""
    if seen.root_before is None:
        return
    now, was = (field_of(field_of(one, "spec"), "cidrs") or [] for one in (seen.value, seen.before))
    if len(was) == 1 and len(now) == 2:
        now = now[:1]
    if len(now) != len(was):
        yield causes.invalid("spec.cidrs", now or None, causes.IMMUTABLE)
        return
    for number, (one, other) in enumerate(zip(now, was, strict=True)):
        if one != other:
            yield causes.invalid(f"spec.cidrs[{number}]", one, causes.IMMUTABLE)


@check
def service_ports(seen: Seen) -> Iterator[Cause]:
    """Several ports need names, and no two are the same; a port of nodes needs a type that has it."""
    ports, kind = field_of(seen.value, "ports") or [], field_of(seen.value, "type")
    named: list[str] = []
    known: list[Any] = []
    for number, port in enumerate(ports):
        at, name = f"{seen.join('ports')}[{number}]", port.get("name") or ""
        if len(ports) > 1 and not name:
            yield causes.required(f"{at}.name")
        elif name in named:
            yield causes.duplicate(f"{at}.name", name)
        named.append(name)
        if kind == "ClusterIP" and port.get("nodePort"):
            yield causes.forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'")
        key = (port.get("protocol"), port.get("port"))
        if key in known:
            shown = {"Name": name, "Protocol": key[0], "AppProtocol": port.get("appProtocol"), "Port": key[1]}
            yield causes.duplicate(at, {**shown, "TargetPort": 0, "NodePort": 0})
        known.append(key)


_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")


@check
def service_addresses(seen: Seen) -> Iterator[Cause]:
    """Families and addresses in the cluster, and how they go together."""
    spec = seen.value
    families, policy = spec.get("ipFamilies") or [], spec.get("ipFamilyPolicy")
    one, several = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if several and not one:
        yield causes.invalid(seen.join("clusterIPs"), several, "must be empty when `clusterIP` is not specified")
    elif several and several[0] != one:
        yield causes.invalid(seen.join("clusterIPs"), several, "first value must match `clusterIP`")
    for number, family in enumerate(families):
        if family not in _FAMILIES:
            yield causes.not_supported(f"{seen.join('ipFamilies')}[{number}]", family, _FAMILIES)
        if family in families[:number]:
            yield causes.duplicate(f"{seen.join('ipFamilies')}[{number}]", family)
    if policy is not None and policy not in _FAMILY_POLICIES:
        yield causes.not_supported(seen.join("ipFamilyPolicy"), policy, _FAMILY_POLICIES)
    for number, text in enumerate(several or ([one] if one else [])):
        if text != "None":
            at = f"{seen.join('clusterIPs')}[{number}]"
            yield from (causes.invalid(at, text, why) for why in address(text))


@check
def source_range(seen: Seen) -> Iterator[Cause]:
    """Upstream writes the name of the list with a capital letter."""
    text = str(seen.value).strip()
    path = seen.path.replace("loadBalancer", "LoadBalancer")
    yield from (causes.invalid(path, text, why) for why in network(text))
