"""Which container an ephemeral one looks at (spec 3.7). Pure.

Its processes are seen by id, so the id must be that of the container that runs now: one that has ended has none.
"""

from __future__ import annotations

from actors.model.observed import ObservedPod
from actors.model.refusal import StartRefusedError
from config.objects import Container, EphemeralContainer


def target_id(container: Container, path: str, observed: ObservedPod) -> str:
    """The id of that container; empty when it names none. Raises StartRefusedError while the one it names does not run.

    `path`: where the container stands in its pod.
    """
    name = container.target_container_name if isinstance(container, EphemeralContainer) else None
    if not name:
        return ""
    target = observed.newest(name)
    if target is None or not target.running:
        raise StartRefusedError(f"{path}.targetContainerName", f"container {name} of the pod does not run")
    return target.id
