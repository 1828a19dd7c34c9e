"""What a person may write, and how it is read."""

import json

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from config.documents.text import read_document, read_documents
from config.documents.writing import yaml_text


def value_of(text: str) -> object:
    value, faults = read_document(text.encode())
    assert faults == []
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: 1", {"a": 1}),
        ("a: -7", {"a": -7}),
        ("a: 0644", {"a": 0o644}),
        ("a: 0o17", {"a": 15}),
        ("a: 0x1F", {"a": 31}),
        ("a: 0o_17_", {"a": 15}),
        ("a: 0o", {"a": "0o"}),
        ("a: 0x_", {"a": "0x_"}),
        ("a: 1_000", {"a": 1000}),
        ("a: 089", {"a": 89.0}),
        ("a: 1.5", {"a": 1.5}),
        ("a: 1e3", {"a": 1000.0}),
        ("a: yes", {"a": True}),
        ("a: off", {"a": False}),
        ("a: 'yes'", {"a": "yes"}),
        ('a: "8080"', {"a": "8080"}),
        ("a: !!str 8080", {"a": "8080"}),
        ("a:", {"a": None}),
        ("a: ~", {"a": None}),
        ("a: ''", {"a": ""}),
        ("a: 2001-01-02", {"a": "2001-01-02"}),
        ("a: 22:22", {"a": "22:22"}),
        ("a: 1Gi", {"a": "1Gi"}),
        ("80: x", {"80": "x"}),
        ("a: [1, {b: c}]", {"a": [1, {"b": "c"}]}),
        ("a: |\n  two\n  lines\n", {"a": "two\nlines\n"}),
        ("\ufeffa: 1", {"a": 1}),
        ("x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3", {"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 3}}),
        ("a: y", {"a": True}),
        ("a: N", {"a": False}),
        ("a: 'y'", {"a": "y"}),
        ("y: x", {"true": "x"}),
        ("'y': x", {"y": "x"}),
        ("off: x", {"false": "x"}),
        ("010: x", {"8": "x"}),
        ("30.0: x", {"30": "x"}),
        ("---\na: 1\n---\n", {"a": 1}),
        ('{"a": [1, true, null]}', {"a": [1, True, None]}),
        ("{a: b, c: [d]}", {"a": "b", "c": ["d"]}),
        ("", None),
        ("# nothing but a comment", None),
    ],
)
def test_plain_values_are_what_the_api_takes_them_for(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2", "$.b.c", "line 4: is given twice, first in line 3"),
        ('{"a": {"b": 1, "b": 2}}', "$.a.b", "is given twice"),
        ('{"l": [{"b": 1, "b": 2}]}', "$.l[0].b", "is given twice"),
        ("a: [1", "$", "not YAML at line"),
        ("a:\n\t- 1", "$", "not YAML at line 2"),
        ("a: b: c", "$", "not YAML at line 1"),
        ("a: *nobody", "$.a", "not defined above"),
        ('{"a": "\\ud800"}', "$", "half a character"),
        ("a: &a [*a]", "$.a[0]", "stands inside itself"),
        ("a: !!python/object:os.system x", "$.a", "the tag"),
        ("? [1]\n: 2", "$", "a key must be plain text"),
        ("<<: 3", "$.<<", "only maps"),
        ("a: 1e999", "$.a", "too large"),
        ("a: 1\n---\nb: 2\n---\nc: 3", "$", "it has 3 documents"),
        ("[" * 100_000, "$", "nested"),
        ("- " * 100_000, "$", "nested"),
        ("{a: " * 100_000, "$", "nested"),
    ],
)
def test_an_ambiguous_yaml_value_is_a_fault_with_its_place(text: str, path: str, reason: str) -> None:
    _, faults = read_document(text.encode())
    assert faults
    assert faults[0].path == path
    assert reason in faults[0].reason


@pytest.mark.parametrize(
    "text", ["a: 30.0", "a: 3e1", '{"a": 30.0}', '{"a": 3e1}'], ids=["point", "exponent", "json", "json-exponent"]
)
def test_a_number_without_a_fraction_is_whole_as_go_writes_it(text: str) -> None:
    value = value_of(text)
    assert isinstance(value, dict)
    assert (value["a"], type(value["a"])) == (30, int)


@pytest.mark.parametrize("text", ["a: 1\nb: 1\na: 2", '{"a": 1, "b": 1, "a": 2}'], ids=["yaml", "json"])
def test_of_a_repeated_key_the_last_one_counts_and_both_are_told(text: str) -> None:
    (document,) = read_documents(text.encode())
    assert document.value == {"a": 2, "b": 1}
    assert document.faults == ()
    assert [each.path for each in document.repeated] == ["$.a"]
    assert "is given twice" in document.repeated[0].reason


def test_bytes_that_are_no_text_are_a_fault() -> None:
    assert "not UTF-8" in read_document(b"a: \xff\xfe")[1][0].reason


def test_aliases_cannot_multiply_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    _, faults = read_document("\n".join(lines).encode())
    assert "more than" in faults[0].reason


def test_a_place_has_a_line_and_so_has_what_is_missing_in_it() -> None:
    (document,) = read_documents(b"kind: Pod\nspec:\n  containers:\n  - name: a\n    image: b\n")
    assert document.line_of("$.spec.containers[0].image") == 5
    assert document.line_of("$.spec.containers[0].ports[3].name") == 4
    assert document.line_of("$.status") == 1


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(alphabet="abc.-/ :#", max_size=5), plain, min_size=1, max_size=4))
def test_json_reads_back_whatever_it_holds(value: object) -> None:
    assert read_document(json.dumps(value).encode()) == (value, [])


@given(
    st.dictionaries(
        st.from_regex(r"\A[a-z]{1,5}\Z"), st.lists(st.text(alphabet="ab:#-{}\n \"'1", max_size=8)), min_size=1
    )
)
def test_yaml_with_quotes_reads_back_as_written(value: object) -> None:
    text = yaml.safe_dump(value, default_style='"', default_flow_style=False)
    assert read_document(text.encode()) == (value, [])


@given(st.dictionaries(st.text(alphabet="yn01e.+xo~ ", max_size=4), plain, min_size=1, max_size=4))
@example({"y": "n", "1": "1e3", "null": ""})
def test_what_is_written_as_yaml_reads_back(value: object) -> None:
    assert read_document(yaml_text(value).encode()) == (value, [])


@given(st.binary(max_size=60))
def test_any_bytes_are_a_document_or_a_fault(data: bytes) -> None:
    read_documents(data)
