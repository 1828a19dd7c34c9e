"""What a user is told whose folder has no control plane."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.planes.binaries import Binaries, PlaneError, controller_manager_at, find_binaries

PROGRAM = 0o755
ALL = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def folder(path: Path, *names: str, mode: int = PROGRAM) -> str:
    for name in names:
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(mode)
    return str(path)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_folder_has_what_it_has(tmp_path: Path, count: int):
    directory = folder(tmp_path, *ALL[:count])
    assert find_binaries(directory) == Binaries(*(f"{directory}/{name}" for name in ALL[:count]))


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ((), "has no etcd and no kube-apiserver; control_plane is a folder with etcd and kube-apiserver"),
        (("etcd",), "has no kube-apiserver; "),
        (("kube-apiserver", "kube-controller-manager"), "has no etcd; "),
    ],
)
def test_what_is_missing_is_named_with_the_way_to_get_it(tmp_path: Path, names: tuple[str, ...], told: str):
    with pytest.raises(PlaneError) as refusal:
        find_binaries(folder(tmp_path, *names))
    text = str(refusal.value)
    assert f"{tmp_path} {told}" in text
    assert "setup-envtest" in text
    assert "KUBEBUILDER_ASSETS" in text
    assert "\n" not in text


def test_a_folder_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(PlaneError, match=f"there is no folder {tmp_path}/x; .*setup-envtest"):
        find_binaries(f"{tmp_path}/x")


def test_a_file_that_cannot_run_is_named(tmp_path: Path):
    directory = folder(tmp_path, *ALL[:2], mode=0o644)
    with pytest.raises(PlaneError, match=rf"{tmp_path}/etcd is not executable; run `chmod \+x {tmp_path}/etcd`"):
        find_binaries(directory)
    (tmp_path / "etcd").unlink()
    (tmp_path / "etcd").mkdir()
    with pytest.raises(PlaneError, match=f"{tmp_path}/etcd is not a file"):
        find_binaries(directory)


def test_a_controller_manager_is_named_by_its_path(tmp_path: Path):
    path = f"{folder(tmp_path, 'kcm')}/kcm"
    assert controller_manager_at(path) == path
    assert controller_manager_at("") == ""
    with pytest.raises(PlaneError, match=f"there is no file {tmp_path}/x; controller_manager is the path of a kube-"):
        controller_manager_at(f"{tmp_path}/x")
