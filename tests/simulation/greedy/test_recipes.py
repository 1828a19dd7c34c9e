"""Each field that the API server lets grow has a template; of the others the reason is said."""

from __future__ import annotations

import os

import pytest

from simulation.greedy.fields import LARGE, greedy_fields
from simulation.greedy.recipes import IMAGE, NODE, LeftOutError, faults_of, template_of
from simulation.greedy.templates import Json, LargeText, ManyEntries, ManyItems, WholeNumber, rendered
from tests.seeds import VARIABLE

LEFT_OUT = {
    "spec.containers[].resizePolicy[*]": "given twice",
    "spec.containers[].resources.requests{*}": "requests",
    "spec.resources.claims[*]": "claim",
    "spec.resources.limits{*}": "limits",
    "spec.resources.requests{*}": "requests",
    "spec.schedulingGates[*]": "no node gets a pod",
    "spec.volumes[].ephemeral.volumeClaimTemplate.spec.resources.requests{*}": "storage: is required",
}
"""Lists and maps that no API server lets grow on a node, and part of the reason."""
OTHER_CONTAINERS = ("spec.initContainers", "spec.ephemeralContainers")
"""They have the fields of all containers, and may not have some of them."""
MANY = tuple(each for each in greedy_fields() if not each.endswith(LARGE) and not each.startswith(OTHER_CONTAINERS))
PARTS = 20


@pytest.mark.parametrize(
    ("template", "size", "document"),
    [
        ({"a": "b", "c": 1}, 2, {"a": "b", "c": 1}),
        ({"name": "n{n}"}, 2, {"name": "n0"}),
        ([ManyItems({"name": "n{n}"})], 0, []),
        ([{"name": "own"}, ManyItems({"name": "n{n}"})], 2, [{"name": "own"}, {"name": "n0"}, {"name": "n1"}]),
        ([ManyItems("x{n}")], 3, ["x0", "x1", "x2"]),
        ([ManyItems({"port": WholeNumber(2)})], 3, [{"port": 1}, {"port": 2}, {"port": 1}]),
        (ManyEntries("k{n}", "v{n}"), 2, {"k0": "v0", "k1": "v1"}),
        (LargeText("{n}"), 5, "nnnnn"),
        (LargeText("/{n}:1"), 7, "/nnnn:1"),
        ([ManyItems("{address}")], 2, ["10.0.0.0", "10.0.0.1"]),
    ],
)
def test_a_template_makes_a_document_of_each_size(template: Json, size: int, document: Json):
    assert rendered(template, size) == document


@pytest.mark.parametrize(
    ("field", "items"),
    [
        ("spec.volumes[*].nfs", [{"name": "n0", "nfs": {"path": "/n0", "server": "nfs.example"}}]),
        ("spec.volumes[*].image", [{"name": "n0", "image": {"reference": "registry.example/greedy-0:1"}}]),
        ("spec.initContainers[*]", [{"name": "n0", "image": "registry.example/greedy-0:1"}]),
        ("spec.containers[*]", [{"name": "app", "image": IMAGE}, {"name": "n0", "image": IMAGE}]),
        ("spec.imagePullSecrets[*]", [{"name": "n0"}]),
        ("spec.hostAliases[*]", [{"ip": "10.0.0.0", "hostnames": ["n0.example"]}]),
    ],
)
def test_items_mean_something_to_an_agent(field: str, items: list[Json]):
    spec = rendered(template_of(field), 1)["spec"]
    assert spec[field.split(".")[1].partition("[")[0]][-len(items) :] == items


def test_each_token_has_an_audience_of_its_own():
    field = "spec.volumes[].projected.sources[*].serviceAccountToken"
    sources = rendered(template_of(field), 2)["spec"]["volumes"][-1]["projected"]["sources"]
    assert [each["serviceAccountToken"]["audience"] for each in sources] == ["n0", "n1"]


def test_files_show_annotations_that_are_large_themselves():
    pod = rendered(template_of("spec.volumes[].downwardAPI.items[*]"), 1)
    (item,) = pod["spec"]["volumes"][-1]["downwardAPI"]["items"]
    assert item["fieldRef"] == {"fieldPath": "metadata.annotations"}
    assert sum(map(len, pod["metadata"]["annotations"].values())) >= 10_000


@pytest.mark.seeds
@pytest.mark.parametrize("fields", [MANY[first::PARTS] for first in range(PARTS if VARIABLE in os.environ else 1)])
def test_every_list_and_map_grows_but_for_those_that_are_known_not_to(fields: tuple[str, ...]):
    for field in fields:
        if field not in LEFT_OUT:
            template = template_of(field)
            assert template["spec"]["nodeName"] == NODE
            assert faults_of(rendered(template, 10)) == (), field
            assert rendered(template, 10) != rendered(template, 11), field


@pytest.mark.parametrize("field", LEFT_OUT)
def test_a_field_that_cannot_grow_is_left_out_with_a_reason(field: str):
    with pytest.raises(LeftOutError, match=LEFT_OUT[field]):
        template_of(field)
