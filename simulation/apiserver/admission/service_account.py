"""ServiceAccount: a new pod gets its account, the pull secrets of that, and the volume with its token.

A missing account is refused (403). Mirror pods get none. A kube-apiserver draws the name of the volume for each pod.
Here it depends on the spec, so that pods of one template have one spec: a hundred thousand pods hold it once.
"""

from __future__ import annotations

from typing import Any

import msgspec

from simulation.apiserver.admission.attributes import CREATE, Attributes, Plugin, is_mirror_pod
from simulation.apiserver.core import Core
from simulation.apiserver.kinds.table import PODS
from simulation.apiserver.status import Json

TOKEN_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3607
_encode = msgspec.json.Encoder().encode


def admit(this: Attributes) -> None:
    """Raises StatusError (403)."""
    if not is_mirror_pod(this.object):
        spec = this.object["spec"] = dict(this.object["spec"])
        _add_service_account(this, this.call.namespace, spec)


PLUGIN = Plugin("ServiceAccount", frozenset({(PODS, "", CREATE)}), admit=admit)


def _add_service_account(this: Attributes, namespace: str, spec: Json) -> None:
    core = this.core
    account_name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = account_name
    account = core.store.get("serviceaccounts", namespace, account_name)
    if account is None:
        why = f'error looking up service account {namespace}/{account_name}: serviceaccount "{account_name}" not found'
        raise this.forbidden(why)
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
    volume_name = known or f"kube-api-access-{core.suffix_of(_encode(spec))}"
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
