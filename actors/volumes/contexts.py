"""With which SELinux label a persistent volume is mounted, and why it is not (KEP-1710). Pure.

A mount with a label costs no relabelling of files, and every file of the volume has that label. So all containers of
the pod that use the volume must run with one label, and the pod must say its level. The volume's plugin must be able to
do it, and the pod may refuse it (`seLinuxChangePolicy: Recursive`). Otherwise the runtime labels the files one by one.

Volumes of the access mode ReadWriteOncePod alone are mounted so, others with the feature gate SELinuxMount.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from actors.messages.counts import OF_A_CONTAINER, OF_A_POD
from config.objects import Pod, PodSpec, SELinuxOptions
from config.pods.once_per_spec import once_per_spec
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.host.selinux import FileLabel
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.csi_material import READ_WRITE_ONCE_POD, CsiMaterial

RECURSIVE = "Recursive"
_WORDS = re.compile(r"[A-Za-z0-9_.]+", re.ASCII)
_LEVEL = re.compile(r"[A-Za-z0-9_.:,-]+", re.ASCII)
_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", READ_WRITE_ONCE_POD: "RWOP"}


class ContextRules(msgspec.Struct, frozen=True):
    """SELinux settings of a node.

    `label`: of container files. `every_mode`: the feature gate SELinuxMount.
    """

    label: FileLabel
    every_mode: bool = False


class MountContext(msgspec.Struct, frozen=True):
    """`wanted`: the label that the pod's containers give the volume, where its plugin can mount it so.

    `mounted`: the volume is mounted with it. `fault`: why there is no such label; of a container's options or of the
    pod's containers together (`about`). It refuses the volume only if it `must` be mounted so.
    """

    wanted: str = ""
    mounted: bool = False
    fault: str = ""
    about: str = ""
    must: bool = False


NO_CONTEXT = MountContext()


def context_of(pod: Pod, spec: VolumeSpec, rules: ContextRules) -> MountContext:
    """How this volume of the pod is to be mounted."""
    if spec.persistent is None or spec.block:
        return NO_CONTEXT
    must = is_for_labels(spec, rules)
    found: set[str] = set()
    for options in _options_by_volume(pod.spec).get(spec.volume.name, ()):
        label = file_label(options, rules.label)
        if label is None:
            text = "failed to construct SELinux label from seLinuxOptions: use letters, digits, _ and . only"
            return MountContext(fault=text, about=OF_A_CONTAINER, must=must)
        found.add(label)
    if len(found) > 1:
        text = f"multiple SELinux labels found: {','.join(sorted(found))}"
        return MountContext(fault=text, about=OF_A_POD, must=must)
    context = pod.spec.security_context
    refused = context is not None and context.se_linux_change_policy == RECURSIVE
    label = min(found, default="")
    if not label or refused or not can_mount(spec):
        return NO_CONTEXT
    return MountContext(label, mounted=must, must=must)


def is_for_labels(spec: VolumeSpec, rules: ContextRules) -> bool:
    """Whether the volume's access modes let it be mounted with a label."""
    return rules.every_mode or spec.access_modes == (READ_WRITE_ONCE_POD,)


def can_mount(spec: VolumeSpec) -> bool:
    """Whether its plugin can mount the volume with a label."""
    material = spec.material
    return material.selinux_mount if isinstance(material, CsiMaterial) else VOLUME_SOURCES[spec.source].attached


def file_label(options: SELinuxOptions, default: FileLabel) -> str | None:
    """The label of files for a process with these options; empty where the level is left to the runtime.

    None: it is no label. It would become a part of mount options.
    """
    words = [each for each in (options.user, options.role, options.type) if each]
    if not all(map(_WORDS.fullmatch, words)) or (options.level and not _LEVEL.fullmatch(options.level)):
        return None
    if not options.level:
        return ""
    # The role and the type of a process are none of a file.
    return f"{options.user or default.user}:{default.role}:{default.type}:{options.level}"


def mode_word(spec: VolumeSpec) -> str:
    """The access mode in a kubelet's metrics."""
    return next((_SHORT_MODES[mode] for mode in spec.access_modes if mode in _SHORT_MODES), "inline")


@once_per_spec
def _options_by_volume(spec: PodSpec) -> Mapping[str, tuple[SELinuxOptions, ...]]:
    """The options of every container that mounts a volume, as far as it has some. By name of the volume."""
    whole = spec.security_context
    found: dict[str, list[SELinuxOptions]] = {}
    for container in (*spec.init_containers, *spec.containers, *spec.ephemeral_containers):
        own = container.security_context
        options = (own.se_linux_options if own is not None else None) or (
            whole.se_linux_options if whole is not None else None
        )
        if options is not None:
            for name in dict.fromkeys(mount.name for mount in container.volume_mounts):
                found.setdefault(name, []).append(options)
    return {name: tuple(options) for name, options in found.items()}
