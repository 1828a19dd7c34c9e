"""Parts of volumes on a simulated host: `runtime.volumes.sub_path.SubPaths`, kept in a `FileTree`.

The rules are those of the real one; a mount is a link to what was found.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping

from runtime.files.beneath import LINKS_AT_MOST
from runtime.volumes.capability import VolumeFailedError
from runtime.volumes.pod_directories import SUB_PATHS
from runtime.volumes.sub_path import SubPath
from simulation.host.file_tree import FileTree


class SimulatedSubPaths:
    """`root` is the agent's directory."""

    def __init__(self, tree: FileTree, root: str) -> None:
        self._tree = tree
        self._pods = f"{root.rstrip('/')}/pods"

    def prepare(self, wanted: tuple[SubPath, ...]) -> Mapping[int, str]:
        if not wanted:
            return {}
        # One fault at a time: that of the volume which the first of them is in.
        return self._tree.gate(wanted[0].volume_path, lambda: {each.index: self._mount(each) for each in wanted})

    def _mount(self, wanted: SubPath) -> str:
        try:
            found = self._find(wanted)
        except VolumeFailedError as failure:
            name = wanted.called or wanted.volume
            text = f'failed to prepare subPath for volumeMount "{name}" of container "{wanted.container}": {failure}'
            raise VolumeFailedError(text) from failure
        directory = f"{self._pods}/{wanted.uid}/{SUB_PATHS}/{wanted.volume}/{wanted.container}"
        self._tree.make_directories(directory)
        place = f"{directory}/{wanted.index}"
        self._tree.link(place, found)
        return place

    def _find(self, wanted: SubPath) -> str:
        tree, top = self._tree, wanted.volume_path
        way: list[str] = []
        ahead = deque(wanted.path.split("/"))
        links = 0
        while ahead:
            name = ahead.popleft()
            if name in ("", "."):
                continue
            if name == "..":
                if not way:
                    raise VolumeFailedError(f"{wanted.path!r} leads out of the volume through a symbolic link")
                way.pop()
                continue
            path = os.path.join(top, *way, name)
            if not tree.is_link(path):
                if not tree.exists(path):
                    if not wanted.make:
                        raise VolumeFailedError(f"there is no {wanted.path!r} in the volume")
                    tree.make_directories(path)
                way.append(name)
                continue
            target = tree.read_link(path)
            links += 1
            if target.startswith("/") or links > LINKS_AT_MOST:
                raise VolumeFailedError(f"{wanted.path!r} leads out of the volume through a symbolic link")
            ahead.extendleft(reversed(target.split("/")))
        return os.path.join(top, *way)
