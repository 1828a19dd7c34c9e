"""Kinds of volumes that are not served say what to use instead; images are the runtime's."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.objects import ImageVolumeSource, Pod, Volume
from config.pods.volume_sources import VOLUME_SOURCES
from runtime.csi.client import GrpcCsiDrivers
from runtime.volumes.capability import VolumeFailedError, VolumePlace, VolumeSpec
from runtime.volumes.image_volume import ImagePlugin
from runtime.volumes.kinds import RefusedPlugin, volume_plugins
from runtime.volumes.mounts import KernelMounts

PLACE = VolumePlace("u", "p", "v", False, "/nowhere")


def say(*words: str) -> None:
    raise AssertionError(words)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("git_repo", "gitRepo volumes .* are disabled; clone in an init container into an emptyDir"),
        ("rbd", "rbd volumes have no plugin in Kubernetes any more; use a persistent volume of its CSI driver"),
    ],
)
# (spec 8.2.1)
def test_a_kind_that_is_not_served_says_what_to_use_instead(source: str, said: str):
    plugin = RefusedPlugin(source)
    spec = VolumeSpec(name="v", volume=Volume(name="v"), source=source)
    with pytest.raises(VolumeFailedError, match=said):
        plugin.prepare(Pod(), spec, PLACE, say)


def test_nothing_of_an_image_lies_on_disk():
    spec = VolumeSpec(name="v", volume=Volume(name="v", image=ImageVolumeSource(reference="a")), source="image")
    assert ImagePlugin().prepare(Pod(), spec, PLACE, say) == ""
    spec = VolumeSpec(name="v", volume=Volume(name="v", image=ImageVolumeSource()), source="image")
    with pytest.raises(VolumeFailedError, match="names no image"):
        ImagePlugin().prepare(Pod(), spec, PLACE, say)


# (spec 8.2.1)
def test_every_kind_that_is_served_or_refused_has_one_plugin(tmp_path: Path):
    plugins = volume_plugins(str(tmp_path), KernelMounts(), 0, GrpcCsiDrivers(), str(tmp_path))
    of_nodes = sorted(source for source, kind in VOLUME_SOURCES.items() if kind.served or kind.refusal)
    assert sorted(plugin.source for plugin in plugins) == of_nodes
    assert all(plugin.name == VOLUME_SOURCES[plugin.source].plugin for plugin in plugins)
