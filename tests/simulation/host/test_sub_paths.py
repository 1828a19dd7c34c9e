"""Parts of volumes on a simulated host follow the rules of the real one."""

from __future__ import annotations

import pytest

from runtime.volumes.capability import VolumeFailedError
from runtime.volumes.sub_path import SubPath
from simulation.host.file_tree import FileTree
from simulation.host.sub_paths import SimulatedSubPaths


def world() -> tuple[FileTree, SimulatedSubPaths]:
    tree = FileTree()
    tree.make_directories("/root/pods/u/volume")
    return tree, SimulatedSubPaths(tree, "/root")


def wanted(path: str, *, make: bool = True) -> tuple[SubPath, ...]:
    return (SubPath("u", "v", "c", 2, "/root/pods/u/volume", path, make),)


def test_a_part_is_made_and_found_at_its_place():
    tree, sub_paths = world()
    place = sub_paths.prepare(wanted("a/b"))[2]
    assert place == "/root/pods/u/volume-subpaths/v/c/2"
    tree.write("/root/pods/u/volume/a/b/file", b"x")
    assert tree.read(f"{place}/file") == b"x"


def test_links_that_stay_inside_are_followed():
    tree, sub_paths = world()
    tree.make_directories("/root/pods/u/volume/..v")
    tree.write("/root/pods/u/volume/..v/key", b"x")
    tree.link("/root/pods/u/volume/..data", "..v")
    tree.link("/root/pods/u/volume/key", "..data/key")
    assert tree.read(sub_paths.prepare(wanted("key", make=False))[2]) == b"x"


@pytest.mark.parametrize("target", ["/etc", "../../../etc", "x"])
def test_links_that_lead_out_or_in_a_circle_are_refused(target: str):
    tree, sub_paths = world()
    tree.link("/root/pods/u/volume/x", target)
    with pytest.raises(VolumeFailedError, match="leads out of the volume"):
        sub_paths.prepare(wanted("x"))


def test_a_missing_sub_path_is_an_error_when_it_may_not_be_made():
    tree, sub_paths = world()
    with pytest.raises(VolumeFailedError, match="there is no 'a' in the volume"):
        sub_paths.prepare(wanted("a", make=False))
    assert tree.names_in("/root/pods/u/volume") == []
