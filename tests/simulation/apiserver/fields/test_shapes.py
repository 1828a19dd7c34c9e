"""Objects of one shape set the same fields, whatever their values are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.apiserver.fields.comparison import compared
from simulation.apiserver.fields.published import published_type
from simulation.apiserver.fields.shapes import shape_of
from simulation.apiserver.fields.types import FieldType

VALUES = st.sampled_from([None, "", "a", "b", 0, 1, False, True, [], {}, ["x"], {"q": "r"}])
PORTS = st.lists(
    st.one_of(
        VALUES,
        st.fixed_dictionaries(
            {}, optional={"port": st.sampled_from([1, True, 80]), "protocol": VALUES, "name": VALUES}
        ),
    ),
    max_size=3,
)
SERVICES = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {"name": VALUES}, optional={"labels": st.dictionaries(VALUES.map(str), VALUES)}
        ),
        "spec": st.fixed_dictionaries({}, optional={"ports": PORTS, "selector": VALUES, "clusterIP": VALUES}),
        "status": VALUES,
        "unknown": VALUES,
    },
)


def kind(api_version: str, name: str) -> FieldType:
    found = published_type(api_version, name)
    assert found is not None
    return found


SERVICE, EVENT = kind("v1", "Service"), kind("v1", "Event")


@given(SERVICES, SERVICES)
def test_new_objects_of_one_shape_set_the_same_fields(one: dict[str, Any], other: dict[str, Any]):
    if shape_of(one, SERVICE) == shape_of(other, SERVICE):
        assert compared({}, one, SERVICE) == compared({}, other, SERVICE)


def ports(*numbers: Any) -> dict[str, Any]:
    return {"spec": {"ports": [{"port": number, "protocol": "TCP"} for number in numbers]}}


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ({"message": "Pulled nginx"}, {"message": "Started app"}, True),
        ({"message": "Pulled nginx"}, {"message": ""}, False),
        ({"count": 1}, {"count": 0}, False),
        ({"metadata": {"labels": {"app": "web"}}}, {"metadata": {"labels": {"app": "db"}}}, True),
        ({"metadata": {"labels": {"app": "web"}}}, {"metadata": {"labels": {"tier": "web"}}}, False),
        (ports(80, 81), ports(80, 81), True),
        (ports(80), ports(81), False),
        (ports(1), ports(True), False),
        (ports(80, 81), ports(81, 80), False),
    ],
)
def test_what_makes_a_shape(one: dict[str, Any], other: dict[str, Any], alike: bool):
    of = SERVICE if "spec" in one else EVENT
    assert (shape_of(one, of) == shape_of(other, of)) is alike
