"""How much the agent writes for one pod: what counts, and what is too much."""

from __future__ import annotations

import pytest

from actors.messages.references import ObjectRef
from actors.volumes.wishes.content_sizes import ENTRY_BYTES, FLAG, ContentSizes, ContentTooLargeError
from actors.volumes.wishes.payloads import Answers, contents_of
from config.objects import (
    ConfigMap,
    ConfigMapVolumeSource,
    Container,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    KeyToPath,
    ObjectFieldSelector,
    ObjectMeta,
    Pod,
    PodSpec,
    Volume,
    VolumeMount,
)

CFG = ObjectRef("ConfigMap", "ns", "cfg")


def pod(*volumes: Volume, **annotations: str) -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path=f"/{volume.name}") for volume in volumes)
    spec = PodSpec(volumes=volumes, containers=(Container(name="c", volume_mounts=mounts),))
    return Pod(metadata=ObjectMeta(name="p", namespace="ns", uid="u", annotations=annotations), spec=spec)


def annotations_under(paths: int, name: str = "v") -> Volume:
    field = ObjectFieldSelector(field_path="metadata.annotations")
    items = tuple(DownwardAPIVolumeFile(path=f"f{number}", field_ref=field) for number in range(paths))
    return Volume(name=name, downward_api=DownwardAPIVolumeSource(items=items))


def config_map_under(paths: int, name: str = "v") -> Volume:
    items = tuple(KeyToPath(key="a", path=f"f{number}") for number in range(paths))
    return Volume(name=name, config_map=ConfigMapVolumeSource(name="cfg", items=items))


LIMIT = 3 * ENTRY_BYTES
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("files", "fits"),
    [
        ([("a", LIMIT)], True),
        ([("a", LIMIT + 1)], False),
        ([("a", LIMIT - 1), ("b", 1)], True),
        ([("a", LIMIT - 1), ("b", 2)], False),
        ([("a", LIMIT), ("a", LIMIT)], True),
        ([("a", 0), ("b", 0), ("c", 0)], True),
        ([("a", 0), ("b", 0), ("c", 0), ("d", 0)], False),
        ([("x/a", 0), ("x/b", 0)], True),
        ([("x/a", 0), ("y/b", 0)], False),
        ([("x/y/z/a", 0)], False),
    ],
)
def test_every_path_counts_with_its_bytes_and_as_an_entry_of_a_directory(files: list[tuple[str, int]], fits: bool):
    sizes = ContentSizes(LIMIT)
    sizes.begin_volume()
    *first, last = files
    for path, size in first:
        sizes.add(path, size, "spec.volumes[0]")
    if fits:
        sizes.add(*last, "spec.volumes[0]")
    else:
        with pytest.raises(ContentTooLargeError, match=f"^spec.volumes.0.: with {last[0]!r}"):
            sizes.add(*last, "spec.volumes[0]")


def test_what_is_too_large_is_refused_with_the_place_the_size_and_the_limit():
    made = contents_of(pod(annotations_under(3), k="x" * 100_000), Answers(), 250_000)
    text = (
        "spec.volumes[0].downwardAPI.items[2]: with 'f2' the agent writes 300012 bytes for the volumes of this pod, "
        f"and the limit is 250000; show fewer or smaller files, or start the agent with a larger {FLAG}"
    )
    assert (made.payloads, made.refusals) == ({}, {"v": text})


def test_a_volume_that_is_refused_leaves_its_room_to_later_ones():
    large, small = annotations_under(1000, "large"), annotations_under(1, "small")
    made = contents_of(pod(large, small, k="x" * MIB), Answers())
    assert list(made.payloads) == ["small"]
    assert list(made.refusals) == ["large"]


def test_all_that_the_api_holds_fits_when_it_is_shown_once():
    refs = [ObjectRef("ConfigMap", "ns", f"cfg{number}") for number in range(40)]
    objects = {ref: ConfigMap(data={"a": "x" * MIB}) for ref in refs}
    volumes = [Volume(name=ref.name, config_map=ConfigMapVolumeSource(name=ref.name)) for ref in refs]
    made = contents_of(pod(*volumes), Answers(objects))
    assert (len(made.payloads), made.refusals) == (40, {})


@pytest.mark.parametrize(
    "volume", [annotations_under(1000), config_map_under(1000)], ids=["an annotation", "a config map"]
)
def test_a_value_under_many_paths_is_made_once(volume: Volume):
    answers = Answers({CFG: ConfigMap(data={"a": "\n" * 1000})})
    files = contents_of(pod(volume, k="\n" * 1000), answers).payloads["v"]
    assert len(files) == 1000
    assert len({id(file.data) for file in files.values()}) == 1


def test_a_refusal_names_the_first_faults_and_counts_the_others():
    items = tuple(KeyToPath(key=f"k{number}", path=f"f{number}") for number in range(3000))
    volume = Volume(name="v", config_map=ConfigMapVolumeSource(name="cfg", items=items))
    refusal = contents_of(pod(volume), Answers({CFG: ConfigMap()})).refusals["v"]
    assert refusal.startswith("[configmap references non-existent config key: k0, ")
    assert refusal.endswith("k15, and 2984 more]")
