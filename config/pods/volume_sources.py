"""All kinds of volume sources: a row for each source of `Volume`, and for `local`.

Only persistent volumes have `local`.

Rules that depend on the kind of a volume read the kind's row. `runtime.volumes.kinds` lists the plugins that serve the
kinds. `config.pods.in_tree_volumes` translates the disks of clouds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from config.objects import PersistentVolumeSpec, Pod, Volume
from config.values.nearest import did_you_mean

_DRIVER = "use a persistent volume of its CSI driver"


class SourceKind(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of one kind."""

    plugin: str = ""
    """The name of its plugin and of the plugin's directories.

    Empty for a kind that stands for another volume.
    """
    served: bool = False
    """This node has a plugin for it."""
    refusal: str = ""
    """Why this node does not serve it, and what to use instead."""
    required: tuple[str, ...] = ()
    """Required attributes of the source."""
    api_data: str = ""
    """The API objects that it needs, in words; empty for none."""
    secret_ref: bool = False
    """It may name a secret with credentials in `secret_ref`."""
    from_objects: bool = False
    """The agent writes its files, from API objects or the pod. Nobody else does."""
    labelled: bool = False
    """Its files belong to the pod, so they get the pod's SELinux label."""
    attached: bool = False
    """A pod's own volume of this kind is attached to the node first, too.

    Only one node at a time may have it.
    """
    persistent: bool = False
    """This node supports persistent volumes of this kind."""
    mount_options: bool = False
    """Its persistent volumes take mount options."""
    remote: bool = False
    """Making or removing it waits for a server or a driver, which may be dead."""


def _no_plugin(name: str) -> str:
    return f"{name} volumes have no plugin in Kubernetes any more; {_DRIVER}"


VOLUME_SOURCES: Mapping[str, SourceKind] = {
    "aws_elastic_block_store": SourceKind(plugin="kubernetes.io/aws-ebs", required=("volume_id",)),
    "azure_disk": SourceKind(plugin="kubernetes.io/azure-disk", required=("disk_name", "disk_uri")),
    "azure_file": SourceKind(
        plugin="kubernetes.io/azure-file", required=("secret_name", "share_name"), api_data="an azureFile volume"
    ),
    "cephfs": SourceKind(
        plugin="kubernetes.io/cephfs", refusal=_no_plugin("cephfs"), required=("monitors",), secret_ref=True
    ),
    "cinder": SourceKind(plugin="kubernetes.io/cinder", required=("volume_id",), secret_ref=True),
    "config_map": SourceKind(
        plugin="kubernetes.io/configmap",
        served=True,
        required=("name",),
        api_data="a config map",
        from_objects=True,
        labelled=True,
    ),
    "csi": SourceKind(
        plugin="kubernetes.io/csi",
        served=True,
        required=("driver",),
        api_data="a CSI volume",
        labelled=True,
        persistent=True,
        mount_options=True,
        remote=True,
    ),
    "downward_api": SourceKind(plugin="kubernetes.io/downward-api", served=True, from_objects=True, labelled=True),
    "empty_dir": SourceKind(plugin="kubernetes.io/empty-dir", served=True, labelled=True),
    "ephemeral": SourceKind(api_data="an ephemeral volume claim"),
    "fc": SourceKind(
        plugin="kubernetes.io/fc",
        served=True,
        attached=True,
        labelled=True,
        persistent=True,
        mount_options=True,
        remote=True,
    ),
    "flex_volume": SourceKind(
        plugin="kubernetes.io/flex-volume",
        served=True,
        required=("driver",),
        secret_ref=True,
        persistent=True,
        remote=True,
    ),
    "flocker": SourceKind(plugin="kubernetes.io/flocker", refusal=_no_plugin("flocker")),
    "gce_persistent_disk": SourceKind(plugin="kubernetes.io/gce-pd", required=("pd_name",)),
    "git_repo": SourceKind(
        plugin="kubernetes.io/git-repo",
        refusal="gitRepo volumes run git as root on the node and are disabled; clone in an init container into an"
        " emptyDir",
        required=("repository",),
    ),
    "glusterfs": SourceKind(
        plugin="kubernetes.io/glusterfs",
        refusal=_no_plugin("glusterfs"),
        required=("endpoints", "path"),
        api_data="a glusterfs volume",
    ),
    "host_path": SourceKind(plugin="kubernetes.io/host-path", served=True, required=("path",), persistent=True),
    "image": SourceKind(plugin="kubernetes.io/image", served=True, required=("reference",)),
    "iscsi": SourceKind(
        plugin="kubernetes.io/iscsi",
        served=True,
        attached=True,
        required=("target_portal", "iqn"),
        secret_ref=True,
        labelled=True,
        persistent=True,
        mount_options=True,
        remote=True,
    ),
    "local": SourceKind(
        plugin="kubernetes.io/local-volume", served=True, labelled=True, persistent=True, mount_options=True
    ),
    "nfs": SourceKind(
        plugin="kubernetes.io/nfs",
        served=True,
        required=("server", "path"),
        persistent=True,
        mount_options=True,
        remote=True,
    ),
    "persistent_volume_claim": SourceKind(required=("claim_name",), api_data="a persistent volume claim"),
    "photon_persistent_disk": SourceKind(
        plugin="kubernetes.io/photon-persistent-disk", refusal=_no_plugin("photonPersistentDisk"), required=("pd_id",)
    ),
    "portworx_volume": SourceKind(plugin="kubernetes.io/portworx-volume", required=("volume_id",)),
    "projected": SourceKind(plugin="kubernetes.io/projected", served=True, from_objects=True, labelled=True),
    "quobyte": SourceKind(
        plugin="kubernetes.io/quobyte", refusal=_no_plugin("quobyte"), required=("registry", "volume")
    ),
    "rbd": SourceKind(
        plugin="kubernetes.io/rbd", refusal=_no_plugin("rbd"), required=("monitors", "image"), secret_ref=True
    ),
    "scale_io": SourceKind(
        plugin="kubernetes.io/scale-io",
        refusal=_no_plugin("scaleIO"),
        required=("gateway", "system", "volume_name"),
        secret_ref=True,
    ),
    "secret": SourceKind(
        plugin="kubernetes.io/secret",
        served=True,
        required=("secret_name",),
        api_data="a secret",
        from_objects=True,
        labelled=True,
    ),
    "storageos": SourceKind(plugin="kubernetes.io/storageos", refusal=_no_plugin("storageos"), secret_ref=True),
    "vsphere_volume": SourceKind(plugin="kubernetes.io/vsphere-volume", required=("volume_path",)),
}
"""By the attribute of `Volume` or `PersistentVolumeSpec`."""

_JSON_NAMES = {
    attribute: name
    for kind in (Volume, PersistentVolumeSpec)
    for attribute, name in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
}


def source_of(volume: Volume | PersistentVolumeSpec) -> str:
    """The attribute of the volume's one source; empty when it has none."""
    return next((name for name in VOLUME_SOURCES if getattr(volume, name, None) is not None), "")


def unknown_sources(pod: Pod) -> Mapping[int, str]:
    """Volumes whose only source is of a kind unknown here: index in `spec.volumes` -> the source's key.

    A pod as it was read: with its defaults, such a volume is an emptyDir.
    """
    found: dict[int, str] = {}
    for path, _ in pod.unknown.entries if pod.unknown is not None else ():
        if len(path) == 4 and path[:2] == ("spec", "volumes") and isinstance(path[2], tuple):
            index, key = path[2][0], path[3]
            if isinstance(key, str) and index < len(pod.spec.volumes) and not source_of(pod.spec.volumes[index]):
                found.setdefault(index, key)
    return found


def unknown_source_words(key: str) -> tuple[str, str]:
    """Why a volume with that source is refused, and what to do."""
    kinds = tuple(json_name_of(name) for name in VOLUME_SOURCES)
    return (
        f"{key!r} is not a kind of volume that this node knows",
        did_you_mean(key, kinds, "use a kind that it knows, or a persistent volume claim"),
    )


def kind_of(volume: Volume) -> SourceKind:
    """The row of the volume's source. Like the API, it takes a volume without a source as an emptyDir."""
    return VOLUME_SOURCES[source_of(volume) or "empty_dir"]


def json_name_of(source: str) -> str:
    """The source's key in documents, such as `configMap`."""
    return _JSON_NAMES.get(source, source)
