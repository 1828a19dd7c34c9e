"""How cgroups are called (spec 10.2)."""

from __future__ import annotations

import pytest

from config.pods.identity import QosClass
from runtime.cgroups.names import (
    CGROUPFS,
    SYSTEMD,
    CgroupNameError,
    container_of,
    path_of,
    pod_words,
    root_words,
    tier_words,
    uids_in,
    unit_of,
    words_of,
)

G, U, B = QosClass.GUARANTEED, QosClass.BURSTABLE, QosClass.BEST_EFFORT
ROOT = root_words("/")
UID = "1f2e-3d"


@pytest.mark.parametrize(
    ("words", "cgroupfs", "systemd"),
    [
        ((), "/", "/"),
        (ROOT, "/kubepods", "/kubepods.slice"),
        (tier_words(ROOT, U), "/kubepods/burstable", "/kubepods.slice/kubepods-burstable.slice"),
        (tier_words(ROOT, B), "/kubepods/besteffort", "/kubepods.slice/kubepods-besteffort.slice"),
        (pod_words(ROOT, G, UID), "/kubepods/pod1f2e-3d", "/kubepods.slice/kubepods-pod1f2e_3d.slice"),
        (
            pod_words(ROOT, U, UID),
            "/kubepods/burstable/pod1f2e-3d",
            "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1f2e_3d.slice",
        ),
        (
            pod_words(root_words("/node/a-b"), B, UID),
            "/node/a-b/kubepods/besteffort/pod1f2e-3d",
            "/node.slice/node-a_b.slice/node-a_b-kubepods.slice/node-a_b-kubepods-besteffort.slice"
            "/node-a_b-kubepods-besteffort-pod1f2e_3d.slice",
        ),
    ],
)
# (spec 10.2.1)
def test_10_2_the_tree(words: tuple[str, ...], cgroupfs: str, systemd: str) -> None:
    assert path_of(words, CGROUPFS) == cgroupfs
    assert path_of(words, SYSTEMD) == systemd
    assert words_of(cgroupfs, CGROUPFS) == words
    assert words_of(systemd, SYSTEMD) == words


def test_10_2_the_unit_of_a_cgroup_is_its_last_slice() -> None:
    assert unit_of(pod_words(ROOT, U, UID)) == "kubepods-burstable-pod1f2e_3d.slice"


@pytest.mark.parametrize(("word", "driver"), [("a/b", CGROUPFS), ("a/b", SYSTEMD), ("a_b", SYSTEMD), ("", CGROUPFS)])
# (spec 10.2.2)
def test_10_2_ambiguous_cgroup_names_are_refused(word: str, driver: str) -> None:
    with pytest.raises(CgroupNameError, match="cannot be a part"):
        path_of((word,), driver)


@pytest.mark.parametrize(
    ("driver", "directories"),
    [
        (CGROUPFS, ["pod1f2e-3d", "burstable", "cgroup", "pod", "podx"]),
        (SYSTEMD, ["kubepods-burstable-pod1f2e_3d.slice", "kubepods-burstable.slice", "kubepods-podx.slice"]),
    ],
)
# (spec 10.2.4)
def test_10_2_pods_are_known_by_their_directories(driver: str, directories: list[str]) -> None:
    assert uids_in(directories, driver) == ("1f2e-3d", "x")


@pytest.mark.parametrize("name", ["cri-containerd-1a2b.scope", "crio-1a2b.scope", "crio-1a2b", "1a2b"])
def test_a_container_is_known_by_its_cgroup(name: str) -> None:
    assert container_of(name) == "1a2b"


def test_without_a_tree_of_classes_pods_lie_at_the_root() -> None:
    assert root_words("/", per_qos=False) == ()
