"""Which ids a pod with a user namespace has (spec 17.6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.model.id_ranges import IdRange, IdRangeError, Slots, document, node_range, read_document

PER_POD = 65536


# (spec 17.6.2)
def test_17_6_without_subordinate_ids_the_range_is_all_but_those_of_the_host() -> None:
    whole = node_range(None, None, PER_POD, 110)
    assert whole == IdRange(PER_POD, 2**32 - PER_POD)
    odd = node_range(None, None, 3 * PER_POD, 110)
    assert odd.first == 3 * PER_POD
    assert odd.length % odd.first == 0
    assert odd.first + odd.length <= 2**32


# (spec 17.6.2)
def test_17_6_the_range_is_that_of_getsubids() -> None:
    said = f"0: kubelet {PER_POD} {110 * PER_POD}\n"
    assert node_range(said, said, PER_POD, 110) == IdRange(PER_POD, 110 * PER_POD)


@pytest.mark.parametrize(
    ("users", "groups", "why"),
    [
        pytest.param("0: kubelet 65536 7208960", None, "both are needed", id="users only"),
        pytest.param("0: kubelet 65536 7208960", "0: kubelet 131072 7208960", "must be the same", id="different"),
        pytest.param("0: kubelet 1000 7208960", "0: kubelet 1000 7208960", "multiple of 65536", id="odd first"),
        pytest.param("0: kubelet 0 7208960", "0: kubelet 0 7208960", "not 0", id="those of the host"),
        pytest.param("0: kubelet 65536 7208961", "0: kubelet 65536 7208961", "multiple of 65536", id="odd length"),
        pytest.param("0: kubelet 65536 65536", "0: kubelet 65536 65536", "maxPods", id="too few"),
        pytest.param("getsubids fails: x", "getsubids fails: x", "one range", id="no answer"),
        pytest.param("0: k 1 2\n1: k 3 4", "0: k 1 2\n1: k 3 4", "one range", id="two ranges"),
    ],
)
# (spec 17.6.2)
def test_17_6_a_range_that_pods_cannot_be_divided_over_is_an_error(users: str, groups: str | None, why: str) -> None:
    with pytest.raises(IdRangeError, match=why):
        node_range(users, groups, PER_POD, 110)


def slots(pods: int = 3) -> Slots:
    return Slots(IdRange(PER_POD, pods * PER_POD), PER_POD)


# (spec 17.6.3)
def test_17_6_each_pod_has_its_own_slot_and_keeps_it() -> None:
    it = slots()
    firsts = [it.give(uid).first for uid in ("a", "b", "a", "c")]
    assert firsts == [PER_POD, 2 * PER_POD, PER_POD, 3 * PER_POD]
    with pytest.raises(IdRangeError, match="given to other pods"):
        it.give("d")
    it.release("b")
    assert it.give("d").first == 2 * PER_POD


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (IdRange(2 * PER_POD, 2 * PER_POD), "idsPerPod"),
        (IdRange(9 * PER_POD, PER_POD), "outside"),
        (IdRange(0, PER_POD), "outside"),
        (IdRange(PER_POD + 1, PER_POD), "outside"),
        (IdRange(PER_POD, PER_POD), "another pod"),
    ],
)
def test_17_6_a_record_that_cannot_be_kept_refuses_its_pod_and_its_ids_go_to_nobody(record: IdRange, why: str) -> None:
    it = slots(4)
    it.restore("a", IdRange(PER_POD, PER_POD))
    with pytest.raises(IdRangeError, match=why):
        it.restore("b", record)
    taken = range(record.first, record.first + record.length)
    given = []
    for name in "cdef":
        try:
            given.append(it.give(name))
        except IdRangeError:
            break
    assert not any(first.first in taken or first.first + PER_POD - 1 in taken for first in given)
    it.release("b")
    assert it.of("a") == IdRange(PER_POD, PER_POD)


# (spec 16.2, 17.6.3)
def test_17_6_the_record_is_a_document_of_mappings() -> None:
    text = document(IdRange(131072, PER_POD))
    one = '[{"hostId":131072,"containerId":0,"length":65536}]'
    assert text == f'{{"uidMappings":{one},"gidMappings":{one}}}'
    assert read_document(text) == IdRange(131072, PER_POD)


@pytest.mark.parametrize(
    "text", ["", "{}", "x", '{"uidMappings":[],"gidMappings":[]}', '{"version":2}', '{"uidMappings":' + "[" * 200_000]
)
def test_17_6_a_record_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(IdRangeError):
        read_document(text)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 9)), max_size=60))
def test_17_6_no_two_pods_ever_have_ids_in_common(history: list[tuple[bool, int]]) -> None:
    it = slots(5)
    have: dict[str, int] = {}
    for give, number in history:
        uid = str(number)
        if not give:
            it.release(uid)
            have.pop(uid, None)
            continue
        try:
            have[uid] = it.give(uid).first
        except IdRangeError:
            assert len(have) == 5
    assert len(set(have.values())) == len(have)
