"""A greedy pod is as large as it may be, is taken by the API server, and uses what it has."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from actors.kernel import SimulatedDispatcher
from simulation.apiserver.requests.answers import JsonAnswer, ObjectAnswer
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.greedy.pods import LATER, drawn_field, greedy_pod
from simulation.greedy.recipes import LeftOutError
from simulation.greedy.templates import Json

KIB = 1024
PODS = "/api/v1/namespaces/default/pods"


def stored_bytes(pod: Json) -> int:
    """How large an API server keeps it, as JSON. Ephemeral containers come with an update."""
    server, spec = ApiServer(SimulatedDispatcher(0)), dict(pod["spec"])
    later = {"spec": {LATER: spec.pop(LATER, [])}}
    answer = server.handle(ApiRequest("POST", PODS, (), msgspec.json.encode({**pod, "spec": spec})))
    if later["spec"][LATER]:
        path = f"{PODS}/{pod['metadata']['name']}/{LATER.lower()}"
        answer = server.handle(ApiRequest("PATCH", path, (), msgspec.json.encode(later), MERGE))
    assert isinstance(answer, JsonAnswer | ObjectAnswer)
    assert answer.code < 300, answer.body()
    return len(answer.body())


@pytest.mark.parametrize(
    "field",
    [
        "metadata.labels{*}",
        "spec.containers[*].livenessProbe.exec",
        "spec.containers[].args[]=*",
        "spec.containers[].env[*].valueFrom.fieldRef",
        "spec.ephemeralContainers[*]",
        "spec.hostAliases[].hostnames[*]",
        "spec.volumes[*].nfs",
        "spec.volumes[].projected.sources[*].serviceAccountToken",
    ],
)
@pytest.mark.parametrize("kib", [32, 128])
def test_a_pod_is_as_large_as_it_may_be(field: str, kib: int):
    stored = stored_bytes(greedy_pod(field, kib * KIB).document)
    assert 0.97 * kib * KIB < stored <= kib * KIB


def test_every_volume_is_mounted_since_an_agent_makes_no_other():
    spec = greedy_pod("spec.volumes[*].nfs", 32 * KIB).document["spec"]
    mounted = {each["name"] for each in spec["containers"][0]["volumeMounts"]}
    assert mounted == {each["name"] for each in spec["volumes"]}
    assert len(mounted) > 100


def test_annotations_leave_room_for_others():
    own = tuple((f"own/{number}", "x" * 1000) for number in range(3))
    pod = greedy_pod("metadata.annotations{*}", 512 * KIB, own).document
    assert dict(own).items() <= pod["metadata"]["annotations"].items()
    assert 250 * KIB < stored_bytes(pod) - sum(map(len, pod["metadata"]["annotations"])) < 512 * KIB


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("metadata.name=*", "DNS|name"),
        ("metadata.managedFields[*]", "keeps nothing"),
        ("spec.containers[].terminationMessagePolicy=*", "not supported"),
        ("spec.dnsConfig.nameservers[*]", "at most 3|more than"),
    ],
)
def test_what_the_api_server_keeps_small_is_left_out(field: str, reason: str):
    with pytest.raises(LeftOutError, match=reason):
        greedy_pod(field, 128 * KIB)


def test_the_same_draws_give_the_same_field_and_left_out_ones_are_drawn_again():
    def draws(*numbers: int) -> Iterator[int]:
        yield from numbers

    def drawn(numbers: Iterator[int]) -> str:
        return drawn_field(lambda below: next(numbers) % below, 16 * KIB)

    assert drawn(draws(0)) == drawn(draws(0)) == "metadata.annotations{*}"
    left_out = 2
    with pytest.raises(LeftOutError):
        greedy_pod("metadata.creationTimestamp=*", 16 * KIB)
    assert drawn(draws(left_out, 0)) == "metadata.annotations{*}"
