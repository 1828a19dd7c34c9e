"""Discovery documents of the server: its groups, its resources, its version. Pure.

The documents exist in two forms: one for each group and version, and an aggregated one, which clients request with
their Accept header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.apiserver.kinds.table import SERVED, USAGE, ServedResource, groups

Json = dict[str, Any]
Served = tuple[ServedResource, ...]

MAJOR, MINOR = "1", "36"
VERSION: Json = {
    "major": MAJOR,
    "minor": MINOR,
    "emulationMajor": MAJOR,
    "emulationMinor": MINOR,
    "gitVersion": f"v{MAJOR}.{MINOR}.2",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-08-21T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The media type of the aggregated form, as answers carry it."""

_AGGREGATED_PARAMETERS = frozenset({"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"})


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
    `served`: the resources of the server.
    """
    served = (*served, *USAGE)
    match [part for part in path.split("/") if part]:
        case ["version"]:
            document: Json | None = VERSION
        case ["api" | "apis" as root] if wants_aggregated(accept):
            return AGGREGATED, _aggregated(served, core=root == "api")
        case ["api"]:
            ways = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
            document = {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": ways}
        case ["apis"]:
            listed = [_group(name, versions) for name, versions in groups(served).items() if name]
            document = {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
        case ["api", version]:
            document = _resource_list("", version, served)
        case ["apis", group]:
            known = groups(served).get(group)
            document = None if known is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(group, known)}
        case ["apis", group, version]:
            document = _resource_list(group, version, served)
        case _:
            document = None
    return None if document is None else ("application/json", document)


def _aggregated(served: Served, *, core: bool) -> Json:
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
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}


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


def _group(name: str, versions: Sequence[str]) -> Json:
    listed = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _resource_list(group: str, version: str, served: Served) -> Json | None:
    """The plain form of one group and version; None when nothing of it is served."""
    found = _of(served, group, version)
    if not found:
        return None
    listed = []
    for resource in found:
        common = {"namespaced": resource.namespaced}
        first = {"name": resource.plural, "singularName": resource.singular, "kind": resource.kind, **common}
        listed.append({**first, "verbs": list(resource.verbs), **_names(resource)})
        for name, sub in sorted(resource.subresources.items()):
            part: Json = {"name": f"{resource.plural}/{name}", "singularName": "", "kind": sub.kind, **common}
            if (sub.group, sub.version) != (resource.group, resource.version):
                part |= {"group": sub.group, "version": sub.version}
            listed.append({**part, "verbs": list(sub.verbs)})
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": found[0].api_version}
    return {**head, "resources": listed}


def _of(served: Served, group: str, version: str) -> list[ServedResource]:
    found = [resource for resource in served if (resource.group, resource.version) == (group, version)]
    return sorted(found, key=lambda resource: resource.plural)


def _names(resource: ServedResource) -> Json:
    names = {"shortNames": list(resource.short_names), "categories": list(resource.categories)}
    return {name: listed for name, listed in names.items() if listed}
