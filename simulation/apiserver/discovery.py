"""What the server says of itself: its groups, its resources, its version. Pure; made once for what is served.

Two forms of the same: one document for each group and version, and the aggregated one, which a client of this decade
asks for with its Accept header. Owns which of them a header wants. Refuses to know objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from simulation.apiserver import usage
from simulation.apiserver.resources import SERVED, ServedResource, groups

Json = dict[str, Any]
Served = tuple[ServedResource, ...]

MAJOR, MINOR = "1", "36"
GIT_VERSION = f"v{MAJOR}.{MINOR}.2"

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The media type of the aggregated form, as answers carry it."""

_AGGREGATED_PARAMETERS = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}


def wants_aggregated(accept: str) -> bool:
    """Whether an Accept header prefers the aggregated form (v2) to the plain one."""
    for choice in accept.split(","):
        media, *parameters = (part.strip() for part in choice.split(";"))
        if media == "application/json" and set(parameters) >= _AGGREGATED_PARAMETERS:
            return True
        if media in ("application/json", "*/*") and not any(part.startswith(("g=", "as=")) for part in parameters):
            return False
    return False


def discovery(path: str, accept: str = "", address: str = "", served: Served = SERVED) -> tuple[str, Json] | None:
    """(media type, document) of a path of discovery; None for any other path.

    Paths: /version, /api, /apis, /api/v1, /apis/GROUP, /apis/GROUP/VERSION. `address`: host:port of the server;
    `served`: the resources that it has.
    """
    parts = tuple(part for part in path.split("/") if part)
    if parts == ("version",):
        return "application/json", version()
    if parts in (("api",), ("apis",)):
        if wants_aggregated(accept):
            return AGGREGATED, aggregated(served, core=parts == ("api",))
        return "application/json", api_versions(address) if parts == ("api",) else api_group_list(served)
    document: Json | None = None
    if parts[:1] == ("api",) and len(parts) == 2:
        document = api_resource_list("", parts[1], served)
    elif parts[:1] == ("apis",) and len(parts) == 2:
        document = api_group(parts[1], served)
    elif parts[:1] == ("apis",) and len(parts) == 3:
        document = api_resource_list(parts[1], parts[2], served)
    return None if document is None else ("application/json", document)


@lru_cache(maxsize=1)
def version() -> Json:
    """`/version`."""
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "2026-08-21T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def api_versions(address: str) -> Json:
    """`/api` in its plain form."""
    ways = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": list(groups()[""]), "serverAddressByClientCIDRs": ways}


@lru_cache(maxsize=1)
def api_group_list(served: Served = SERVED) -> Json:
    """`/apis` in its plain form."""
    listed = [_group(name, versions) for name, versions in groups(served).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [*listed, usage.group()]}


def api_group(name: str, served: Served = SERVED) -> Json | None:
    """`/apis/GROUP`; None when there is no such group."""
    if name == usage.GROUP:
        return {"kind": "APIGroup", "apiVersion": "v1", **usage.group()}
    versions = groups(served).get(name) if name else None
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)}


def api_resource_list(group: str, version: str, served: Served = SERVED) -> Json | None:
    """`/api/v1` and `/apis/GROUP/VERSION`; None when nothing of it is served."""
    if (group, version) == (usage.GROUP, usage.VERSION):
        return usage.resources()
    found = _of(served, group, version)
    if not found:
        return None
    resources = [document for resource in found for document in _resources(resource)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": found[0].api_version,
        "resources": resources,
    }


@lru_cache(maxsize=2)
def aggregated(served: Served = SERVED, *, core: bool) -> Json:
    """`/api` (core) or `/apis` (all others) in the aggregated form: everything in one document."""
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_resource(resource) for resource in _of(served, group, version)],
                    "freshness": "Current",
                }
                for version in versions
            ],
        }
        for group, versions in groups(served).items()
        if core == (group == "")
    ]
    if not core:
        items.append(usage.aggregated())
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


def _of(served: Served, group: str, version: str) -> Sequence[ServedResource]:
    found = [resource for resource in served if (resource.group, resource.version) == (group, version)]
    return sorted(found, key=lambda resource: resource.plural)


def _group(name: str, versions: Sequence[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resources(resource: ServedResource) -> list[Json]:
    first: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    listed = [first]
    for name, sub in sorted(resource.subresources.items()):
        document: Json = {"name": f"{resource.plural}/{name}", "singularName": "", "namespaced": resource.namespaced}
        if (sub.group, sub.version) != (resource.group, resource.version):
            document |= {"group": sub.group, "version": sub.version}
        listed.append({**document, "kind": sub.kind, "verbs": list(sub.verbs)})
    return listed


def _aggregated_resource(resource: ServedResource) -> Json:
    document: Json = {
        "resource": resource.plural,
        "responseKind": {"group": resource.group, "version": resource.version, "kind": resource.kind},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
        **_names(resource),
    }
    if resource.subresources:
        document["subresources"] = [
            {
                "subresource": name,
                "responseKind": {"group": sub.group, "version": sub.version, "kind": sub.kind},
                "verbs": list(sub.verbs),
            }
            for name, sub in sorted(resource.subresources.items())
        ]
    return document


def _names(resource: ServedResource) -> Json:
    names: Json = {}
    if resource.short_names:
        names["shortNames"] = list(resource.short_names)
    if resource.categories:
        names["categories"] = list(resource.categories)
    return names
