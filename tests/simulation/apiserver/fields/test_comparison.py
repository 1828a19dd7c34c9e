"""What differs between two objects, and what an applier owns, by the types of their kinds."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.fields.comparison import as_written, compared, owned, without_left_out
from simulation.apiserver.fields.custom import custom_type
from simulation.apiserver.fields.merging import ConfigurationError, check_configuration, merged, taken_out
from simulation.apiserver.fields.published import published_type
from simulation.apiserver.fields.sets import paths, read_fields, shown_path
from simulation.apiserver.fields.types import FieldType
from simulation.apiserver.schemas.kind_schema import KindSchema


def kind(api_version: str, name: str) -> FieldType:
    found = published_type(api_version, name)
    assert found is not None
    return found


SERVICE, DEPLOYMENT, MAP = kind("v1", "Service"), kind("apps/v1", "Deployment"), kind("v1", "ConfigMap")
TCP, UDP = {"port": 53, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}
ITEM = '.ports[port=53,protocol="TCP"]'
TEXT = {"type": "string"}
PORT = {"type": "object", "properties": {"port": {"type": "integer"}, "protocol": {**TEXT, "default": "TCP"}}}
CUSTOM = custom_type(
    KindSchema(
        {
            "type": "object",
            "properties": {
                "ports": {
                    "type": "array",
                    "items": PORT,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port", "protocol"],
                },
                "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                "plain": {"type": "array", "items": PORT},
                "whole": {"type": "object", "additionalProperties": TEXT, "x-kubernetes-map-type": "atomic"},
                "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    )
)


def shown(fields: Any) -> list[str]:
    return [shown_path(path) for path in paths(fields)]


def spec(**fields: Any) -> dict[str, Any]:
    return {"spec": fields}


def test_two_ports_of_one_number_are_two_items() -> None:
    found = compared(spec(ports=[TCP]), spec(ports=[UDP, TCP]), SERVICE)
    assert shown(found.added) == [
        '.spec.ports[port=53,protocol="UDP"]',
        '.spec.ports[port=53,protocol="UDP"].port',
        '.spec.ports[port=53,protocol="UDP"].protocol',
    ]
    assert not found.changed
    assert not found.removed


def test_a_key_that_is_left_out_has_its_default() -> None:
    assert not compared(spec(ports=[{"port": 53}]), spec(ports=[{"port": 53}]), SERVICE).set()
    found = compared(spec(ports=[{"port": 53}]), spec(ports=[{**TCP, "name": "dns"}]), SERVICE)
    assert shown(found.set()) == [
        '.spec.ports[port=53,protocol="TCP"].name',
        '.spec.ports[port=53,protocol="TCP"].protocol',
    ]


def test_what_go_always_writes_is_there_before_anybody_sets_it() -> None:
    found = compared({}, spec(template={"spec": {"containers": [{"name": "a"}]}}), DEPLOYMENT)
    assert shown(found.set())[0] == '.spec.template.spec.containers[name="a"]'
    assert '.spec.template.spec.containers[name="a"].resources' in shown(found.set())


def test_a_map_is_an_item_and_an_atomic_one_a_value() -> None:
    assert shown(compared({}, {"data": {"a": "1"}}, MAP).set()) == [".data", ".data.a"]
    assert shown(compared({}, spec(selector={"a": "1"}), SERVICE).set()) == [".spec.selector"]
    assert shown(owned({"data": {"a": "1"}, "binaryData": {}}, MAP)) == [".binaryData", ".data.a"]


def test_a_set_knows_its_items_by_value() -> None:
    found = compared({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, CUSTOM)
    assert (shown(found.added), shown(found.removed)) == (['.tags[="c"]'], ['.tags[="a"]'])


@pytest.mark.parametrize(
    ("before", "after", "added", "changed", "removed"),
    [
        ({}, {"any": {"x": {"y": 1}}}, [".any", ".any.x", ".any.x.y"], [], []),
        ({"any": {"x": [1]}}, {"any": {"x": [2]}}, [], [".any.x"], []),
        ({"any": {"x": {"y": 1}}}, {"any": {"x": 1}}, [], [".any.x"], [".any.x.y"]),
        ({"any": {"x": {"y": 1}}}, {"any": {"x": {}}}, [], [], [".any.x.y"]),
        ({"plain": [{"port": 1}]}, {"plain": [{"port": 2}]}, [], [".plain"], []),
        ({"whole": {"a": "1"}}, {"whole": {"a": "2"}}, [], [".whole"], []),
        ({"ports": [TCP, TCP]}, {"ports": [TCP]}, [ITEM, f"{ITEM}.port", f"{ITEM}.protocol"], [], [ITEM]),
    ],
)
def test_values_are_compared_by_their_type(
    before: Any, after: Any, added: list[str], changed: list[str], removed: list[str]
) -> None:
    found = compared(before, after, CUSTOM)
    assert (shown(found.added), shown(found.changed), shown(found.removed)) == (added, changed, removed)


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        (["a", "b", "c"], ["c"], ["a", "b", "c"]),
        (["a", "b"], ["b", "a"], ["b", "a"]),
        (["a", "x", "b"], ["b", "a", "n"], ["x", "b", "a", "n"]),
        (["a", "b"], ["n", "b"], ["a", "n", "b"]),
        (["a", "b"], ["n", "a"], ["n", "a", "b"]),
        ([], ["n"], ["n"]),
        (["a"], [], ["a"]),
    ],
)
def test_a_merged_list_has_the_order_of_the_applier(old: list[str], new: list[str], made: list[str]) -> None:
    assert merged({"tags": old}, {"tags": new}, CUSTOM) == {"tags": made}


def test_merging_changes_nothing_where_nothing_differs() -> None:
    live = spec(ports=[TCP, UDP], selector={"a": "1"})
    assert merged(live, spec(ports=[{"port": 53}]), SERVICE) is live
    assert merged(live, spec(ports=[{"port": 53, "name": "x"}]), SERVICE)["spec"]["ports"] == [
        {**TCP, "name": "x"},
        UDP,
    ]


def test_what_is_taken_out_takes_all_below_it_along() -> None:
    gone = read_fields({"f:spec": {"f:ports": {'k:{"port":53,"protocol":"UDP"}': {}}, "f:selector": {}}})
    assert taken_out(spec(ports=[TCP, UDP], selector={"a": "1"}), gone, SERVICE) == spec(ports=[TCP])
    assert taken_out(spec(ports=[UDP]), gone, SERVICE) == spec(ports=[])


@pytest.mark.parametrize(
    ("value", "type_", "why"),
    [
        ({"odd": 1}, MAP, r"\.odd: field not declared in schema"),
        (
            spec(ports=[{"port": 1}, {"port": 1, "protocol": "TCP"}]),
            SERVICE,
            r"\.spec\.ports: duplicate entries for key",
        ),
        (spec(ports=[{"name": "x"}]), CUSTOM, r"\.spec: field not declared in schema"),
        ({"tags": ["a", "a"]}, CUSTOM, r'\.tags: duplicate entries for key \[="a"\]'),
        ({"tags": [{}]}, CUSTOM, r"\.tags: element 0: an item of a set is a map"),
        (spec(ports="x"), SERVICE, r"\.spec\.ports: expected list, got"),
        ({"metadata": 1}, MAP, r"\.metadata: expected map, got"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused_with_its_path(value: Any, type_: FieldType, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        check_configuration(value, type_)


def test_go_leaves_empty_lists_and_maps_out_and_keeps_empty_structs() -> None:
    pod = kind("v1", "Pod")
    value = spec(containers=[{"name": "a", "args": [], "securityContext": {}}], volumes=[], nodeSelector={})
    assert without_left_out(value, pod) == spec(containers=[{"name": "a", "securityContext": {}}])
    assert as_written(spec(), pod)["spec"] == {"containers": None}
    texts = {"data": {"a": None, "b": ""}}
    assert without_left_out(texts, MAP) is texts, "a null in a map of texts is a text"


def test_an_empty_list_that_go_writes_differs_from_none() -> None:
    node = kind("storage.k8s.io/v1", "CSINode")
    assert shown(compared({}, spec(drivers=[]), node).set()) == [".spec.drivers"]
    assert compared(spec(), spec(drivers=None), node).is_same
