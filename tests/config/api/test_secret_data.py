"""Values of secrets and config maps are decoded to bytes.

The error of bad base64 does not show the value.
"""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.api.secret_data import config_map_bytes, secret_bytes
from config.documents.codec import DocumentError
from config.objects import ConfigMap, Secret


@given(st.dictionaries(st.text(min_size=1, max_size=5), st.binary(max_size=20), max_size=4))
def test_bytes_come_back_from_a_secret_and_a_config_map(values: dict[str, bytes]) -> None:
    encoded = {key: base64.b64encode(value).decode() for key, value in values.items()}
    assert secret_bytes(Secret(data=encoded)) == values
    assert config_map_bytes(ConfigMap(binary_data=encoded)) == values


def test_texts_of_a_config_map_are_utf_8() -> None:
    assert config_map_bytes(ConfigMap(data={"a": "ü"}, binary_data={"b": "AP8="})) == {"a": b"\xc3\xbc", "b": b"\0\xff"}


def test_string_data_overrides_data() -> None:
    assert secret_bytes(Secret(data={"a": "AA==", "b": "AQ=="}, string_data={"a": "x"})) == {"a": b"x", "b": b"\1"}


def test_line_ends_inside_base64_are_no_fault() -> None:
    assert secret_bytes(Secret(data={"a": "aHVu\r\ndGVy\nMg==\n"})) == {"a": b"hunter2"}


@pytest.mark.parametrize("bad", ["hunter2!", "aHVudGVyMg", "ü" * 4, "a b=", "="])
def test_invalid_base64_is_reported_with_its_place_and_not_shown(bad: str) -> None:
    with pytest.raises(DocumentError) as caught:
        secret_bytes(Secret(data={"tls.key": bad}))
    assert caught.value.path == '$.data["tls.key"]'
    assert caught.value.reason.startswith("it is not base64")
    assert bad not in str(caught.value)
    with pytest.raises(DocumentError) as caught:
        config_map_bytes(ConfigMap(binary_data={"k": bad}))
    assert caught.value.path == "$.binaryData.k"
