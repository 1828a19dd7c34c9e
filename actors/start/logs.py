"""Where the log of one attempt of a container is (spec 3.7, 3.8, 16).

Pure; the shapes of links are those of `runtime.logs.pod_logs`, which takes them away again.
"""

from __future__ import annotations

from config.objects import Pod
from runtime.logs.pod_logs import log_link


def log_path(container: str, attempt: int) -> str:
    """Relative to the log directory of the pod, as the runtime is told."""
    return f"{container}/{attempt}.log"


def link_path(root: str, pod: Pod, container: str, container_id: str) -> str:
    """The link that log collectors find a container's log by; `root` is the node's directory of such links."""
    return log_link(root, pod.metadata.name, pod.metadata.namespace, container, container_id)
