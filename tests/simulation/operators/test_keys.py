"""Moments have names that two runs share, and that a user can type."""

from __future__ import annotations

import pytest

from simulation.operators.faults import KINDS, Fault, read_fault
from simulation.operators.keys import Counted, Key, place, read_key, steady_name


@pytest.mark.parametrize(
    "text",
    [
        "create configmaps default/notes #1",
        "patch sites.example.com/status default/shop #12",
        "list pods * #1",
        "DELETED pods default/web-* #2",
        "create customresourcedefinitions.apiextensions.k8s.io sites.example.com #1",
    ],
)
def test_a_key_is_read_as_it_is_written(text: str) -> None:
    assert str(read_key(text)) == text


@pytest.mark.parametrize("text", ["", "create pods default/web", "create pods default/web #x", "create  pods a #1"])
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names no moment"):
        read_key(text)


def test_moments_of_one_name_are_numbered() -> None:
    counted = Counted()
    names = ["web", "web", "db", "web"]
    assert [counted.key("create", "pods", name).nth for name in names] == [1, 2, 1, 3]


def test_a_moment_that_does_not_count_has_the_number_of_the_next_one() -> None:
    counted = Counted()
    first, again = (counted.next("patch", "pods", "web") for _ in range(2))
    counted.count(first)
    counted.count(again)
    assert (first, again, counted.next("patch", "pods", "web").nth) == (first, first, 2)


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ({"name": "web-x7k2p", "generateName": "web-"}, "web-*"),
        ({"name": "web-0"}, "web-0"),
        ({"name": "other", "generateName": "web-"}, "other"),
    ],
)
def test_a_generated_name_is_its_beginning(metadata: dict[str, str], name: str) -> None:
    assert steady_name(metadata) == name


def test_the_place_of_a_collection_and_of_an_object_without_a_namespace() -> None:
    assert (place("default", ""), place("", ""), place("", "node-0")) == ("default/*", "*", "node-0")


def test_a_fault_is_read_as_it_is_written() -> None:
    fault = Fault("kill-after", Key("create", "pods", "default/web", 1))
    assert read_fault(str(fault)) == fault
    with pytest.raises(ValueError, match="did you mean kill-after"):
        read_fault("kill-aftr create pods default/web #1")


def test_each_milder_fault_strikes_at_the_same_moments() -> None:
    for kind in KINDS.values():
        if kind.milder:
            assert set(kind.where) <= set(KINDS[kind.milder].where)
