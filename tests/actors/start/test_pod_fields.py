"""What a pod tells its containers of itself."""

from __future__ import annotations

import pytest

from actors.model.refusal import ContainerRefusedError
from actors.start.pod_fields import file_field, map_lines, quoted, resource_value, variable_field
from config.objects import Container, ObjectMeta, Pod, PodSpec, ResourceFieldSelector, ResourceRequirements

POD = Pod(
    metadata=ObjectMeta(
        name="p", namespace="ns", uid="u", labels={"b": 'x"y', "a": "1"}, annotations={"ex.org/note": "two\nlines"}
    ),
    spec=PodSpec(
        node_name="n",
        service_account_name="sa",
        resources=ResourceRequirements(limits={"memory": "8Mi"}),
        init_containers=(Container(name="first"),),
        containers=(
            Container(
                name="c",
                resources=ResourceRequirements(
                    limits={"cpu": "1500m", "hugepages-2Mi": "4Mi"},
                    requests={"memory": "1000001", "hugepages-2Mi": "4Mi"},
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("field", "variable", "file"),
    [
        ("metadata.name", "p", "p"),
        ("metadata.namespace", "ns", "ns"),
        ("metadata.uid", "u", "u"),
        ("metadata.labels['b']", 'x"y', 'x"y'),
        ("metadata.annotations['ex.org/note']", "two\nlines", "two\nlines"),
        ("metadata.labels['nothing']", "", ""),
        ("metadata.labels", None, 'a="1"\nb="x\\"y"'),
        ("metadata.annotations", None, 'ex.org/note="two\\nlines"'),
        ("spec.nodeName", "n", None),
        ("spec.serviceAccountName", "sa", None),
        ("status.podIP", "10.0.0.1", None),
        ("status.podIPs", "10.0.0.1,fd00::1", None),
        ("status.hostIP", "192.0.2.1", None),
        ("status.hostIPs", "192.0.2.1", None),
        ("spec.containers", None, None),
    ],
)
# (spec 13.3.1)
def test_variables_and_files_offer_the_fields_they_can(field: str, variable: str | None, file: str | None):
    ips, host_ips = ("10.0.0.1", "fd00::1"), ("192.0.2.1",)
    if variable is None:
        with pytest.raises(ContainerRefusedError, match="cannot be a variable"):
            variable_field(POD, field, "$.x", ips, host_ips)
    else:
        assert variable_field(POD, field, "$.x", ips, host_ips) == variable
    if file is None:
        with pytest.raises(ContainerRefusedError, match="cannot be a file"):
            file_field(POD, field, "$.x")
    else:
        assert file_field(POD, field, "$.x") == file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 界", '"plain é 界"'),
        ("\a\b\f\n\r\t\v", '"\\a\\b\\f\\n\\r\\t\\v"'),
        ("\\ \" '", '"\\\\ \\" \'"'),
        ("\x00\x7f\x85\u200b\U000e0001", '"\\x00\\x7f\\u0085\\u200b\\U000e0001"'),
        ("\u00a0", '"\\u00a0"'),
    ],
)
def test_unprintable_characters_are_escaped(text: str, expected: str):
    assert quoted(text) == expected


def test_no_labels_are_an_empty_file():
    assert map_lines({}) == ""


@pytest.mark.parametrize(
    ("resource", "container", "divisor", "expected"),
    [
        ("limits.cpu", "c", None, "2"),
        ("limits.cpu", "c", "1m", "1500"),
        ("limits.cpu", "first", None, "4"),
        ("limits.memory", "c", "1Mi", "8"),
        ("limits.ephemeral-storage", "c", None, "100"),
        ("requests.memory", "c", "1k", "1001"),
        ("requests.memory", "first", None, "0"),
        ("requests.cpu", "c", "0", "0"),
        ("limits.hugepages-2Mi", "c", "1Mi", "4"),
        ("requests.hugepages-2Mi", "c", "1Mi", "4"),
        ("limits.hugepages-2Mi", "first", None, "0"),
        ("limits.hugepages-1Gi", "c", None, "0"),
    ],
)
# (spec 13.3.2)
def test_an_amount_is_rounded_up_in_units_of_its_divisor(
    resource: str, container: str, divisor: str | None, expected: str
):
    selector = ResourceFieldSelector(container_name=container, resource=resource, divisor=divisor)
    assert (
        resource_value(POD, None, selector, "$.x", {"cpu": "4", "ephemeral-storage": "100", "hugepages-2Mi": "1Gi"})
        == expected
    )


@pytest.mark.parametrize(
    ("selector", "path"),
    [
        (ResourceFieldSelector(container_name="nobody", resource="limits.cpu"), "$.x.containerName"),
        (ResourceFieldSelector(resource="limits.cpu"), "$.x.containerName"),
        (ResourceFieldSelector(container_name="c", resource="cpu"), "$.x.resource"),
        (ResourceFieldSelector(container_name="c", resource="limits.ephemeral-storage"), "$.x.resource"),
    ],
)
def test_an_invalid_resource_field_is_refused_with_its_place(selector: ResourceFieldSelector, path: str):
    with pytest.raises(ContainerRefusedError) as refused:
        resource_value(POD, None, selector, "$.x", {})
    assert refused.value.path == path
