"""The state at the end of a run, without what differs between any two runs. Pure.

Uids become the names of their objects, moments and addresses one word, generated names their beginning with a
number. Of a pod stay its phase and whether it is Ready: where it runs, and its restarts, are the business of nodes.
Conditions and ports come in the order of their types and names: writers put what has changed at the end, or take that
of a map in Go. References to objects lose their resourceVersion. An annotation that tells a moment goes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

MOMENT, NODE, ADDRESS, SERVICE = "<a moment>", "<a node>", "<an address of a pod>", "<an address of a service>"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_OF_SERVER = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink", "generateName"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "name", "namespace"),
)
_OF_MOMENTS = frozenset({"endpoints.kubernetes.io/last-change-trigger-time"})
"""Annotations that tell when another object changed; they come and go with the order of changes."""
_KEYS = {"conditions": "type", "ports": "name"}
"""List -> the field of its items by which they are sorted."""
_TOKEN_VOLUME = "kube-api-access-"


def state_of(objects: Iterable[tuple[str, Json]]) -> dict[str, Json]:
    """`resource namespace/name` -> the object. `objects`: each with its resource, as `deployments.apps`."""
    found = sorted(objects, key=lambda one: (one[0], int(one[1]["metadata"].get("resourceVersion") or 0)))
    names = _names(found)
    words = {uid: f"<uid of {name}>" for uid, name in names.items()}
    for resource, value in found:
        metadata = value["metadata"]
        prefix = metadata.get("generateName")
        if prefix:
            words[metadata["name"]] = names[metadata["uid"]].rpartition("/")[2]
        if resource == "pods":
            for address in (value.get("status") or {}).get("podIPs") or ():
                words[address["ip"]] = ADDRESS
            if value["spec"].get("nodeName"):
                words[value["spec"]["nodeName"]] = NODE
        if resource == "services":
            for given in value["spec"].get("clusterIPs") or ():
                if given != "None":
                    words[given] = SERVICE
    return {names[value["metadata"]["uid"]]: _shown(resource, value, words) for resource, value in found}


def _names(found: list[tuple[str, Json]]) -> dict[str, str]:
    """Uid -> `resource namespace/name`. Generated names are numbered in the order of their last change."""
    numbers: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    names = {}
    for resource, value in found:
        metadata = value["metadata"]
        namespace, name, prefix = metadata.get("namespace", ""), metadata["name"], metadata.get("generateName")
        if prefix and name.startswith(prefix):
            number = numbers[resource, namespace, prefix]
            numbers[resource, namespace, prefix] += 1
            name = f"{prefix}*{number}"
        names[metadata["uid"]] = f"{resource} {namespace}/{name}" if namespace else f"{resource} {name}"
    return names


def _shown(resource: str, value: Json, words: Mapping[str, str]) -> Json:
    metadata = value["metadata"]
    shown = {name: part for name, part in value.items() if name not in ("metadata", "apiVersion", "kind")}
    kept = {name: part for name, part in metadata.items() if name not in _OF_SERVER}
    notes = {name: text for name, text in (kept.pop("annotations", None) or {}).items() if name not in _OF_MOMENTS}
    if notes:
        kept["annotations"] = notes
    if metadata.get("deletionTimestamp"):
        kept["terminating"] = True
    if resource == "pods":
        shown = {**shown, "spec": _spec_of_pod(value["spec"]), "status": _status_of_pod(value.get("status") or {})}
    if resource == "services":
        ports = [{**port, "nodePort": 0} if port.get("nodePort") else port for port in value["spec"].get("ports") or ()]
        shown = {**shown, "spec": {**value["spec"], "ports": ports}}
    masked: Json = _masked({"metadata": kept, **shown}, words)
    return masked


def _spec_of_pod(spec: Json) -> Json:
    kept = {name: part for name, part in spec.items() if name != "nodeName"}
    if "volumes" in kept:
        kept["volumes"] = [one for one in kept["volumes"] if not str(one.get("name")).startswith(_TOKEN_VOLUME)]
    for containers in ("containers", "initContainers"):
        if containers in kept:
            kept[containers] = [_container(one) for one in kept[containers]]
    return kept


def _container(container: Json) -> Json:
    mounts = [one for one in container.get("volumeMounts") or () if not str(one["name"]).startswith(_TOKEN_VOLUME)]
    return {**container, "volumeMounts": mounts} if "volumeMounts" in container else container


def _status_of_pod(status: Json) -> Json:
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in status.get("conditions") or ())
    return {"phase": status.get("phase"), "ready": ready}


def _in_order(name: str, value: Any) -> Any:
    key = _KEYS.get(name, "")
    if not key or not isinstance(value, list | tuple):
        return value
    has_keys = all(isinstance(one, dict) and isinstance(one.get(key), str) for one in value)
    return sorted(value, key=lambda one: one[key]) if has_keys else value


def _masked(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        kept = {name: part for name, part in value.items() if name != "resourceVersion" or "uid" not in value}
        return {words.get(name, name): _masked(_in_order(name, part), words) for name, part in kept.items()}
    if isinstance(value, list | tuple):
        return [_masked(part, words) for part in value]
    if isinstance(value, str):
        if value in words:
            return words[value]
        text = _UID.sub(lambda found: words.get(found[0], "<uid of nothing>"), value)
        return _MOMENT.sub(MOMENT, text)
    return value
