"""Lists of CPUs, as the kernel and the state files of a kubelet have them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.values.cpu_sets import format_cpu_set, parse_cpu_set


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_list_of_cpus_is_the_set_it_names(cpus: set[int]) -> None:
    assert parse_cpu_set(",".join(map(str, sorted(cpus)))) == cpus


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_written_list_reads_back(cpus: set[int]) -> None:
    assert parse_cpu_set(format_cpu_set(cpus)) == cpus


@pytest.mark.parametrize(
    ("cpus", "text"), [((), ""), ((3,), "3"), ((1, 0), "0-1"), ((0, 2, 3, 4, 9), "0,2-4,9"), (range(64), "0-63")]
)
def test_a_list_of_cpus_is_short_and_ascending(cpus: tuple[int, ...], text: str) -> None:
    assert format_cpu_set(cpus) == text


@pytest.mark.parametrize("text", ["", ",", "3-1", "a", "1-", "-1", "1,,2", "0-99999999999", "²"])
def test_an_invalid_list_of_cpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_cpu_set(text)
