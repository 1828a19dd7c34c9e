"""Admission of a new pod: service account, token volume, priority, tolerations.

Mirror pods get only the priority. A missing service account or priority class is refused (403).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from simulation.apiserver.core import Core
from simulation.apiserver.resources import PODS
from simulation.apiserver.status import Json, forbidden

TOKEN_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3607
PRIORITY_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_BAD_NODE_SECONDS = 300
_BAD_NODE: tuple[Json, ...] = tuple(
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _BAD_NODE_SECONDS}
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


def admit(core: Core, name: str, namespace: str, spec: Json, *, mirror: bool) -> Json:
    """The spec after admission. Raises StatusError."""
    spec = dict(spec)
    _add_priority(core, name, spec)
    if mirror:
        return spec
    _add_service_account(core, name, namespace, spec)
    _add_tolerations(spec)
    return spec


def _add_priority(core: Core, name: str, spec: Json) -> None:
    class_name = spec.get("priorityClassName")
    priority = PRIORITY_CLASSES.get(class_name, 0) if class_name else 0
    if class_name and class_name not in PRIORITY_CLASSES:
        found = core.store.get("priorityclasses.scheduling.k8s.io", "", class_name)
        if found is None:
            raise forbidden(PODS, name, f"no PriorityClass with name {class_name} was found")
        priority = found.object["value"]
        spec.setdefault("preemptionPolicy", found.object.get("preemptionPolicy"))
    if spec.get("priority") not in (None, priority):
        why = (
            f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
            f"priority admission controller computed {priority} from the given PriorityClass name"
        )
        raise forbidden(PODS, name, why)
    spec["priority"] = priority
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _add_service_account(core: Core, name: str, namespace: str, spec: Json) -> None:
    account_name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account_name
    account = core.store.get("serviceaccounts", namespace, account_name)
    if account is None:
        why = f'error looking up service account {namespace}/{account_name}: serviceaccount "{account_name}" not found'
        raise forbidden(PODS, name, why)
    if not spec.get("imagePullSecrets") and account.object.get("imagePullSecrets"):
        spec["imagePullSecrets"] = account.object["imagePullSecrets"]
    mounts = spec.get("automountServiceAccountToken")
    if mounts is None:
        mounts = account.object.get("automountServiceAccountToken")
    if mounts is not False:
        _add_token_volume(core, spec)


def _add_token_volume(core: Core, spec: Json) -> None:
    volumes: list[Any] = list(spec.get("volumes") or ())
    known = next((one["name"] for one in volumes if str(one.get("name", "")).startswith("kube-api-access-")), None)
    volume_name = known or f"kube-api-access-{core.suffix()}"
    used = False
    for field in ("initContainers", "containers"):
        if not spec.get(field):
            continue
        containers = []
        for container in spec[field]:
            mounts = container.get("volumeMounts") or []
            if all(mount.get("mountPath") != TOKEN_DIRECTORY for mount in mounts):
                used = True
                mount = {"name": volume_name, "readOnly": True, "mountPath": TOKEN_DIRECTORY}
                container = {**container, "volumeMounts": [*mounts, mount]}
            containers.append(container)
        spec[field] = containers
    if used and known is None:
        spec["volumes"] = [*volumes, {"name": volume_name, "projected": token_projection()}]


def token_projection() -> Json:
    """The projected volume with the API server's token and certificate."""
    return {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
    }


def _add_tolerations(spec: Json) -> None:
    own = spec.get("tolerations") or ()
    spec["tolerations"] = [*own, *[bad for bad in _BAD_NODE if not (own and _tolerates(own, bad["key"]))]]


def _tolerates(tolerations: Iterable[Json], key: str) -> bool:
    return any(
        one.get("key", "") in (key, "") and one.get("effect", "") in ("NoExecute", "")
        for one in tolerations
        if one.get("key") or one.get("operator") == "Exists"
    )
