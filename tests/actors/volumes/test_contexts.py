"""With which SELinux label a volume is mounted, and what is counted of it."""

from __future__ import annotations

from typing import Any

import pytest

from actors.messages.counts import ADMITTED, OF_A_CONTAINER, OF_A_POD, OF_A_VOLUME, ContextKey
from actors.volumes.context_counts import ContextCounts
from actors.volumes.contexts import NO_CONTEXT, ContextRules, MountContext, context_of
from actors.volumes.desired import DesiredVolume
from config.objects import (
    Container,
    NFSVolumeSource,
    ObjectMeta,
    PersistentVolume,
    PersistentVolumeSpec,
    Pod,
    PodSecurityContext,
    PodSpec,
    SecurityContext,
    SELinuxOptions,
    Volume,
    VolumeMount,
)
from config.objects.storage import ISCSIPersistentVolumeSource
from runtime.host.selinux import FileLabel
from runtime.volumes.capability import VolumeSpec
from runtime.volumes.csi_material import CsiMaterial

RULES = ContextRules(FileLabel("system_u", "object_r", "container_file_t", "s0"))
EVERY = ContextRules(RULES.label, every_mode=True)
RWOP = ("ReadWriteOncePod",)
LEVEL = SELinuxOptions(level="s0:c1,c2")
TARGET = ISCSIPersistentVolumeSource()
LABEL = "system_u:object_r:container_file_t:s0:c1,c2"


def pod(*own: SELinuxOptions | None, whole: SELinuxOptions | None = LEVEL, policy: str | None = None) -> Pod:
    """A container for each of `own`, all with the volume."""
    mounts = (VolumeMount(name="data", mount_path="/data"),)
    containers = [
        Container(name=f"c{i}", volume_mounts=mounts, security_context=SecurityContext(se_linux_options=options))
        for i, options in enumerate(own or (None,))
    ]
    context = PodSecurityContext(se_linux_options=whole, se_linux_change_policy=policy)
    return Pod(metadata=ObjectMeta(name="p"), spec=PodSpec(containers=tuple(containers), security_context=context))


def volume(modes: tuple[str, ...] = RWOP, *, can: bool = True, **fields: Any) -> VolumeSpec:
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=PersistentVolumeSpec())
    material = CsiMaterial(driver="d", handle="h", selinux_mount=can)
    words = {"source": "csi", "persistent": persistent, "material": material, **fields}
    return VolumeSpec(name="pv", volume=Volume(name="data"), access_modes=modes, **words)


def of(source: str, **given: Any) -> VolumeSpec:
    persistent = PersistentVolume(metadata=ObjectMeta(name="pv"), spec=PersistentVolumeSpec(**given))
    return volume(source=source, persistent=persistent, material=None)


@pytest.mark.parametrize(
    ("pod", "spec", "rules", "expected"),
    [
        pytest.param(pod(), volume(), RULES, MountContext(LABEL, True, must=True), id="one label of the pod"),
        pytest.param(
            pod(LEVEL, whole=None), volume(), RULES, MountContext(LABEL, True, must=True), id="of a container"
        ),
        pytest.param(pod(LEVEL, None), volume(), RULES, MountContext(LABEL, True, must=True), id="the same twice"),
        pytest.param(
            pod(SELinuxOptions(user="me_u", role="r", type="t", level="s1"), whole=None),
            volume(),
            RULES,
            MountContext("me_u:object_r:container_file_t:s1", True, must=True),
            id="role and type are of the process",
        ),
        pytest.param(pod(whole=None), volume(), RULES, NO_CONTEXT, id="no options"),
        pytest.param(pod(whole=SELinuxOptions(type="t")), volume(), RULES, NO_CONTEXT, id="no level"),
        pytest.param(pod(policy="Recursive"), volume(), RULES, NO_CONTEXT, id="the pod refuses"),
        pytest.param(pod(policy="MountOption"), volume(), RULES, MountContext(LABEL, True, must=True), id="it agrees"),
        pytest.param(pod(), volume(can=False), RULES, NO_CONTEXT, id="the driver cannot"),
        pytest.param(pod(), volume(block=True), RULES, NO_CONTEXT, id="a device"),
        pytest.param(pod(), volume(persistent=None), EVERY, NO_CONTEXT, id="of the pod"),
        pytest.param(pod(), volume(("ReadWriteOnce",)), RULES, MountContext(LABEL), id="another access mode"),
        pytest.param(pod(), volume((*RWOP, "ReadWriteOnce")), RULES, MountContext(LABEL), id="two access modes"),
        pytest.param(
            pod(), volume(("ReadWriteMany",)), EVERY, MountContext(LABEL, True, must=True), id="the gate SELinuxMount"
        ),
        pytest.param(
            pod(),
            of("iscsi", iscsi=TARGET),
            RULES,
            MountContext(LABEL, True, must=True),
            id="iscsi",
        ),
        pytest.param(pod(), of("nfs", nfs=NFSVolumeSource()), RULES, NO_CONTEXT, id="nfs cannot"),
        pytest.param(
            pod(SELinuxOptions(level="s1"), None),
            volume(),
            RULES,
            MountContext(fault=f"multiple SELinux labels found: {LABEL},{LABEL[:-8]}s1", about=OF_A_POD, must=True),
            id="two labels",
        ),
        pytest.param(
            pod(SELinuxOptions(level="s1"), None),
            volume(("ReadWriteOnce",)),
            RULES,
            MountContext(fault=f"multiple SELinux labels found: {LABEL},{LABEL[:-8]}s1", about=OF_A_POD),
            id="two labels and another access mode",
        ),
    ],
)
def test_the_label_of_a_mount(pod: Pod, spec: VolumeSpec, rules: ContextRules, expected: MountContext) -> None:
    assert context_of(pod, spec, rules) == expected


@pytest.mark.parametrize(
    "options", [{"level": 's0",suid,x="'}, {"user": "a,b", "level": "s0"}, {"type": "a b", "level": "s0"}]
)
def test_words_that_are_no_label_never_become_mount_options(options: dict[str, str]) -> None:
    found = context_of(pod(whole=SELinuxOptions(**options)), volume(), RULES)
    assert (found.about, found.must, found.wanted) == (OF_A_CONTAINER, True, "")
    assert "failed to construct SELinux label" in found.fault


def test_selinux_contexts_are_counted_by_access_mode_and_outcome() -> None:
    def desired(name: str, context: MountContext, modes: tuple[str, ...] = RWOP) -> DesiredVolume:
        return DesiredVolume(name, volume(modes), None, None, "", context)

    admitted, other = MountContext(LABEL, True, must=True), MountContext("other", must=False)
    counts = ContextCounts()
    for uid, wanted in enumerate(
        [
            desired("a", admitted),
            desired("b", other, ("ReadWriteMany",)),
            desired("c", MountContext(fault="x", about=OF_A_POD, must=True)),
            desired("d", MountContext(fault="x", about=OF_A_CONTAINER), ("ReadOnlyMany",)),
            desired("e", NO_CONTEXT),
        ]
    ):
        counts.put(f"u{uid}", wanted)
    assert counts.counts() == {
        ContextKey(ADMITTED, True, "kubernetes.io/csi", "RWOP"): 1,
        ContextKey(OF_A_VOLUME, False, "kubernetes.io/csi", "RWX"): 1,
        ContextKey(OF_A_POD, True, "kubernetes.io/csi", "RWOP"): 1,
        ContextKey(OF_A_CONTAINER, False, "kubernetes.io/csi", "ROX"): 1,
    }
    counts.put("u2", desired("c", NO_CONTEXT))
    counts.drop("u0", "a")
    counts.drop("u3", "d")
    assert counts.counts() == {ContextKey(ADMITTED, True, "kubernetes.io/csi", "RWX"): 1}, "the next one is the first"
    counts.drop("u1", "b")
    assert counts.counts() == {}
