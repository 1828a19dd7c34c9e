"""An object shares what it has in common with another, and stays what it is."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from config.documents.codec import encode, from_builtins, read_json
from config.documents.sharing import ITEMS_AT_MOST, shared
from config.objects import Pod

SHORT = st.sampled_from(["a", "b", ""])
CONTAINERS = st.fixed_dictionaries(
    {"name": SHORT, "image": SHORT},
    optional={
        "env": st.lists(st.fixed_dictionaries({"name": SHORT}, optional={"value": SHORT}), max_size=3),
        "resources": st.fixed_dictionaries({"limits": st.dictionaries(SHORT, SHORT)}),
        "tty": st.booleans(),
    },
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"name": SHORT, "labels": st.dictionaries(SHORT, SHORT)}),
        "spec": st.fixed_dictionaries({"containers": st.lists(CONTAINERS, max_size=3), "newField": SHORT}),
    },
    optional={"status": st.fixed_dictionaries({"phase": SHORT})},
).map(lambda made: from_builtins(made, Pod))


def pod(volume: str, image: str = "i:1") -> Pod:
    """As decoded anew: it shares nothing with another one."""
    container = {
        "name": "web",
        "image": image,
        "env": [{"name": "MODE", "value": "quick"}],
        "volumeMounts": [{"name": volume, "mountPath": "/token"}],
    }
    volumes = [{"name": volume, "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}]
    made = from_builtins({"metadata": {"name": "p"}, "spec": {"containers": [container], "volumes": volumes}}, Pod)
    return msgspec.json.decode(msgspec.json.encode(made), type=Pod)


def test_equal_objects_become_one():
    first, second = pod("token-1"), pod("token-1")
    assert shared(second, first) is first


def test_an_object_that_has_all_common_parts_stays_itself():
    first = pod("token-1")
    second = shared(pod("token-2"), first)
    assert shared(second, first) is second


def test_equal_parts_become_one_however_deep_they_are():
    first, second = pod("token-1"), pod("token-2")
    result = shared(second, first)
    assert result == second
    assert result.metadata is first.metadata
    assert result.spec.volumes[0].projected is first.spec.volumes[0].projected
    assert result.spec.containers[0].env is first.spec.containers[0].env
    assert result.spec.containers[0].image is first.spec.containers[0].image


def test_a_long_tuple_is_shared_as_a_whole_or_not_at_all():
    def texts(last: str, count: int = ITEMS_AT_MOST) -> tuple[str, ...]:
        return (*(f"text {number}" for number in range(count)), last)

    first, equal, other = texts("a"), texts("a"), texts("b")
    assert shared(equal, first) is first
    assert shared(other, first) is other
    short = texts("a", 1)
    assert shared(texts("b", 1), short)[0] is short[0]


def test_objects_of_two_types_share_nothing():
    one = pod("token")
    assert shared(one, None) is one
    assert shared(None, one) is None
    assert shared(1, True) is not True


@given(PODS, PODS)
def test_an_object_that_shares_is_what_it_was(now: Pod, other: Pod):
    result = shared(now, other)
    assert result == now
    assert read_json(encode(result)) == read_json(encode(now)), "the order of labels means nothing"
