"""A configuration of credential programs with anything wrong in it is refused.

Each fault has its file and place.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.credentials.image_providers import decode_image_providers
from config.documents.codec import DocumentError

SOUND: dict[str, Any] = {
    "apiVersion": "kubelet.config.k8s.io/v1",
    "kind": "CredentialProviderConfig",
    "providers": [
        {
            "name": "cloud",
            "matchImages": ["*.dkr.ecr.*.amazonaws.com", "r.io:5000/team"],
            "defaultCacheDuration": "12h",
            "apiVersion": "credentialprovider.kubelet.k8s.io/v1",
            "args": ["get", "-v"],
            "env": [{"name": "PROFILE", "value": "s3cr3t"}],
            "tokenAttributes": {
                "serviceAccountTokenAudience": "sts",
                "cacheType": "Token",
                "requireServiceAccount": True,
                "requiredServiceAccountAnnotationKeys": ["example.com/role"],
                "optionalServiceAccountAnnotationKeys": ["zone"],
            },
        }
    ],
}
Path = tuple[str | int, ...]
OF_ANOTHER_TYPE = st.one_of(
    st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=3).map(lambda text: [[text]])
)
FOREIGN_NAMES = st.from_regex(r"[a-z]{3,9}Of[A-Z][a-z]{2,5}", fullmatch=True)
HERE = re.compile(r"^/etc/b\.yaml: (\$\S*): .")


def places(value: Any, path: Path = ()) -> list[Path]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def written(path: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)


def faults(content: bytes) -> list[str]:
    """Of the second of two files; the first is sound."""
    first = json.dumps(SOUND).replace('"cloud"', '"other"').encode()
    with pytest.raises(DocumentError) as caught:
        decode_image_providers([("/etc/a.yaml", first), ("/etc/b.yaml", content)])
    return [str(fault) for fault in caught.value.faults]


def assert_told(content: bytes, place: str) -> None:
    """Every fault has a place of this file, and one of them is there or on the way to it."""
    told = faults(content)
    found = [HERE.match(fault) for fault in told]
    assert all(found), told
    assert any(place.startswith(match[1]) or match[1].startswith(place) for match in found if match), (place, told)
    assert not any("s3cr3t" in fault for fault in told)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.sampled_from(places(SOUND)), OF_ANOTHER_TYPE)
def test_a_value_of_another_type_is_refused_where_it_stands(path: Path, value: Any) -> None:
    document = copy.deepcopy(SOUND)
    if not path:
        document = value
    else:
        at(document, path[:-1])[path[-1]] = value
    assert_told(json.dumps(document).encode(), written(path))


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(st.sampled_from([path for path in places(SOUND) if isinstance(at(SOUND, path), dict)]), FOREIGN_NAMES)
def test_an_unknown_field_is_refused_where_it_stands(path: Path, name: str) -> None:
    document = copy.deepcopy(SOUND)
    at(document, path)[name] = "s3cr3t"
    assert_told(json.dumps(document).encode(), written((*path, name)))


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(st.integers(0, len(json.dumps(SOUND)) - 2))
def test_a_file_that_is_cut_short_is_refused_by_its_name(length: int) -> None:
    assert_told(json.dumps(SOUND).encode()[:length], "$")


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_refused_by_the_name_of_their_file(content: bytes) -> None:
    assert_told(content, "$")
