"""The table of volume sources has a row for every source of the API."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from config.objects import (
    EmptyDirVolumeSource,
    LocalVolumeSource,
    PersistentVolumeSpec,
    Volume,
)
from config.pods.volume_sources import VOLUME_SOURCES, json_name_of, kind_of, source_of


# (spec 8.2.1)
def test_every_source_of_a_pods_volume_has_a_row_and_local_has_one_too() -> None:
    assert set(VOLUME_SOURCES) == {*Volume.__struct_fields__, "local"} - {"name"}


@pytest.mark.parametrize("source", sorted(VOLUME_SOURCES))
def test_a_kind_that_this_node_serves_is_not_refused(source: str) -> None:
    kind = VOLUME_SOURCES[source]
    assert not (kind.served and kind.refusal)
    assert kind.plugin.startswith("kubernetes.io/") or not kind.served


@pytest.mark.parametrize("source", sorted(set(VOLUME_SOURCES) - {"local"}))
def test_the_attributes_that_rules_read_are_those_of_the_source(source: str) -> None:
    (struct,) = (each for each in get_args(get_type_hints(Volume)[source]) if each is not type(None))
    attributes = {*struct.__struct_fields__}
    assert set(VOLUME_SOURCES[source].required) <= attributes
    assert "secret_ref" in attributes or not VOLUME_SOURCES[source].secret_ref


def test_the_source_of_a_volume_is_the_attribute_that_is_set() -> None:
    assert source_of(Volume(name="a", empty_dir=EmptyDirVolumeSource())) == "empty_dir"
    assert source_of(PersistentVolumeSpec(local=LocalVolumeSource(path="/disk"))) == "local"
    assert source_of(Volume(name="a")) == ""


def test_a_volume_without_a_source_is_an_empty_dir() -> None:
    assert kind_of(Volume(name="a")) == VOLUME_SOURCES["empty_dir"]


def test_documents_have_their_own_names_for_sources() -> None:
    assert [json_name_of(each) for each in ("downward_api", "scale_io", "local")] == ["downwardAPI", "scaleIO", "local"]
