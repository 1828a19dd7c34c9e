"""The resources of the API that a node uses: group, version, plural name, kind, and their paths.

One constant per resource. Pure data; what can be asked of a resource is `runtime.api.calls`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from config.codec import decode
from config.objects import ApiObject, ConfigMap, Pod, Secret

K = TypeVar("K", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class Resource(Generic[K]):
    """One resource. `group` is empty for core; `plural` is its name in paths; `kind` what one object decodes to."""

    group: str
    version: str
    plural: str
    kind: type[K]
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """As in `apiVersion`: "v1", "coordination.k8s.io/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Path of the collection, of one object, or of a part of it. An empty namespace means all of them."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/" + "/".join(parts)

    def decode(self, body: bytes) -> K:
        """One object. Raises DocumentError."""
        return decode(body, self.kind)


PODS = Resource("", "v1", "pods", Pod)
CONFIG_MAPS = Resource("", "v1", "configmaps", ConfigMap)
SECRETS = Resource("", "v1", "secrets", Secret)
