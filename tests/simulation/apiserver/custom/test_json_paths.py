"""JSONPath as columns have it: what is found where, and what is not understood."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.apiserver.schemas.json_paths import find_all, names_of, parse_path

VALUE = {
    "spec": {
        "size": 3,
        "a.b": "dotted",
        "list": [{"name": "x", "n": 1}, {"name": "y", "n": 2}],
        "map": {"k": 1, "l": 2},
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.size", [3]),
        (".spec.nothing", []),
        (".spec.size.more", []),
        (r".spec.a\.b", ["dotted"]),
        (".spec['a.b']", ["dotted"]),
        ('.spec["a.b"]', ["dotted"]),
        (".spec.list[0].name", ["x"]),
        (".spec.list[-1].name", ["y"]),
        (".spec.list[7].name", []),
        (".spec.list[-1:].name", ["y"]),
        (".spec.list[0:1].name", ["x"]),
        (".spec.list[:].n", [1, 2]),
        (".spec.list[*].name", ["x", "y"]),
        (".spec.map.*", [1, 2]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type == 'Synced')].status", ["False"]),
        ('.status.conditions[?(@.type!="Ready")].type', ["Synced"]),
        (".spec.list[?(@.name)].n", [1, 2]),
        (".spec.list[?(@.n==2)].name", ["y"]),
        (".spec.list[?(@.other)].n", []),
        ("$.spec.size", [3]),
    ],
)
def test_a_json_path_finds_its_values(path: str, found: list[Any]) -> None:
    assert list(find_all(VALUE, parse_path(path))) == found


@pytest.mark.parametrize(
    "path",
    ["spec", ".spec...size", ".spec[", ".spec.list[?(@.n==x)]", ".spec.list[?(@.n>1)]", "..n", ".spec.[0]", "{.spec}"],
)
def test_an_unsupported_json_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"is not a JSONPath|is neither"):
        parse_path(path)


def test_a_path_of_names_alone_is_one() -> None:
    assert names_of(parse_path(".spec.size")) == ("spec", "size")
    assert names_of(parse_path(".spec.list[0]")) is None
