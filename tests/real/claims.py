"""Claims bound to directories and disks of the node, as a cluster's controllers bind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from config.api.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from config.objects import PersistentVolumeClaim
from runtime.api import PatchType, get, patch
from tests.real.cluster import ANSWER_S, Cluster

IS_LINUX = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
ON_ANY_LINUX = {"required": {"nodeSelectorTerms": [{"matchExpressions": [IS_LINUX]}]}}
"""A local volume must say where it is."""


def claim(cluster: Cluster, name: str, path: Path | str, *, mode: str = "Filesystem", **spec: Any) -> dict[str, Any]:
    """A claim that is bound to a local volume at `path`; a pod's volume of that name for it."""
    size = {"storage": "1Mi"}
    wanted = {"accessModes": ["ReadWriteOnce"], "volumeMode": mode, "resources": {"requests": size}}
    cluster.create(PERSISTENT_VOLUME_CLAIMS, name, spec={**wanted, "volumeName": f"pv-{name}"})
    main = cluster.lines.main
    bound = {"status": {"phase": "Bound", "capacity": size}}
    kind = PatchType.MERGE
    binding = patch(PERSISTENT_VOLUME_CLAIMS, "default", name, bound, patch_type=kind, subresource="status")
    main.call(binding).result(ANSWER_S)
    found: PersistentVolumeClaim = main.call(get(PERSISTENT_VOLUME_CLAIMS, "default", name)).result(ANSWER_S)
    holder = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": found.metadata.uid}
    source = {"local": {"path": str(path)}, "capacity": size, "accessModes": ["ReadWriteOnce"], "claimRef": holder}
    place = {"nodeAffinity": ON_ANY_LINUX, "volumeMode": mode}
    cluster.create(PERSISTENT_VOLUMES, f"pv-{name}", spec={**source, **place, **spec})
    return {"name": name, "persistentVolumeClaim": {"claimName": name}}
