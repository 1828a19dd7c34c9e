"""Kinds of volumes that this agent does not serve and will not, and what to use instead.

Saying so is all they do. A kind that is in neither this table nor the list of plugins is one nobody has thought of.
"""

from __future__ import annotations

from collections.abc import Mapping

from config.objects import Pod
from runtime.volumes.capability import Say, VolumeError, VolumePlace, VolumeSpec

_DRIVER = "use a persistent volume of its CSI driver"
REFUSED: Mapping[str, str] = {
    "git_repo": "gitRepo volumes run git as root on the node and are disabled; clone in an init container into an"
    " emptyDir",
    "flex_volume": f"flexVolume drivers are programs that the agent would run as root; {_DRIVER}",
    "iscsi": f"iscsi volumes are not attached by this agent; {_DRIVER}",
    "fc": f"fc volumes are not attached by this agent; {_DRIVER}",
    **{
        source: f"{name} volumes have no plugin in Kubernetes any more; {_DRIVER}"
        for source, name in (
            ("cephfs", "cephfs"),
            ("glusterfs", "glusterfs"),
            ("photon_persistent_disk", "photonPersistentDisk"),
            ("quobyte", "quobyte"),
            ("rbd", "rbd"),
            ("scale_io", "scaleIO"),
            ("storageos", "storageos"),
            ("flocker", "flocker"),
        )
    },
}


class RefusedPlugin:
    """A kind of the table."""

    def __init__(self, source: str, reason: str) -> None:
        self.name = f"kubernetes.io/{source.replace('_', '-')}"
        self.source = source
        self._reason = reason

    def prepare(self, pod: Pod, spec: VolumeSpec, place: VolumePlace, say: Say) -> str:
        raise VolumeError(self._reason)

    def is_usable(self, place: VolumePlace) -> bool:
        return False

    def release(self, place: VolumePlace) -> None:
        """Nothing was made."""


def refused_plugins() -> tuple[RefusedPlugin, ...]:
    """One for each kind of the table."""
    return tuple(RefusedPlugin(source, reason) for source, reason in REFUSED.items())
