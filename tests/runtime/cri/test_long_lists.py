"""Lists beyond one message of gRPC, over a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.cri import ALL_VERBS, CriError, StatusCode
from runtime.cri.client import GrpcCri
from runtime.cri.long_lists import IN_PARTS
from runtime.cri.messages import (
    Container,
    ContainerFilter,
    ListContainersRequest,
    ListContainersResponse,
    StreamContainersResponse,
)
from runtime.cri.server import CriServer
from runtime.cri.verbs import LIST_CONTAINERS
from tests.real.waiting import until
from tests.runtime.cri.tiny import TinyCri

PATIENCE_S = 60.0
LISTS = [verb for verb in ALL_VERBS if verb.name in IN_PARTS]
PARTS = tuple(StreamContainersResponse(containers=(Container(id=each),)) for each in "abc")


@pytest.fixture
def tiny() -> TinyCri:
    return TinyCri()


@pytest.fixture
def client(tiny: TinyCri, tmp_path: Path) -> Iterator[GrpcCri]:
    endpoint = f"unix://{tmp_path / 'cri.sock'}"
    with CriServer(tiny, endpoint), GrpcCri(endpoint, lists_in_parts=True) as speaking:
        yield speaking


def asked(tiny: TinyCri) -> list[str]:
    return [name for name, _, _ in tiny.asked]


@pytest.mark.parametrize("verb", LISTS, ids=str)
def test_every_list_has_parts_of_the_same_filter_and_items(verb: Any) -> None:
    parts = IN_PARTS[verb.name]
    assert parts.streaming
    assert parts.request.__struct_fields__ == verb.request.__struct_fields__
    assert len(parts.response.__struct_fields__) == len(verb.response.__struct_fields__) == 1


def test_a_list_of_24_mebibytes_arrives_whole_and_in_order(client: GrpcCri, tiny: TinyCri) -> None:
    containers = tuple(Container(id=f"{number:064d}", image_ref="x" * 2000) for number in range(12_000))
    tiny.answers["StreamContainers"] = tuple(
        StreamContainersResponse(containers=containers[first : first + 500]) for first in range(0, 12_000, 500)
    )
    assert client.call(LIST_CONTAINERS, ListContainersRequest()).result(PATIENCE_S).containers == containers
    assert asked(tiny) == []


def test_an_empty_list_is_a_list(client: GrpcCri, tiny: TinyCri) -> None:
    tiny.answers["StreamContainers"] = ()
    assert client.call(LIST_CONTAINERS, ListContainersRequest()).result(PATIENCE_S) == ListContainersResponse()


def test_a_runtime_without_parts_is_asked_for_whole_lists_from_then_on(client: GrpcCri, tiny: TinyCri) -> None:
    unknown = CriError(StatusCode.UNIMPLEMENTED, "unknown method", "StreamContainers")
    tiny.answers["StreamContainers"] = (unknown,)
    tiny.answers["ListContainers"] = ListContainersResponse(containers=PARTS[0].containers)
    request = ListContainersRequest(filter=ContainerFilter(id="a"))
    for _ in range(2):
        assert client.call(LIST_CONTAINERS, request).result(PATIENCE_S).containers == PARTS[0].containers
    assert [each[:2] for each in tiny.asked] == [("ListContainers", request)] * 2
    assert len(tiny.streams) == 1


def test_a_list_that_breaks_off_is_no_list(client: GrpcCri, tiny: TinyCri, caplog: pytest.LogCaptureFixture) -> None:
    tiny.answers["StreamContainers"] = (*PARTS, CriError(StatusCode.INTERNAL, "disk gone", "StreamContainers"))
    error = client.call(LIST_CONTAINERS, ListContainersRequest()).exception(PATIENCE_S)
    assert str(error) == "ListContainers: disk gone (INTERNAL)"
    assert caplog.messages == ["StreamContainers recv failed: disk gone (INTERNAL)"]


def test_a_list_that_does_not_end_in_time_is_no_list(client: GrpcCri, tiny: TinyCri) -> None:
    tiny.answers["StreamContainers"] = (*PARTS, TinyCri.NEVER)
    error = client.call(LIST_CONTAINERS, ListContainersRequest(), timeout_ns=10**8).exception(PATIENCE_S)
    assert isinstance(error, CriError)
    assert error.code == StatusCode.DEADLINE_EXCEEDED
    assert error.verb == "ListContainers"


def test_who_gives_up_a_list_ends_its_stream(client: GrpcCri, tiny: TinyCri) -> None:
    tiny.answers["StreamContainers"] = (*PARTS, TinyCri.NEVER)
    answer = client.call(LIST_CONTAINERS, ListContainersRequest())
    until(lambda: bool(tiny.streams), PATIENCE_S, "nobody asks for the stream")
    assert not answer.done()
    assert answer.cancel()
    tiny.streams[0].closed.result(PATIENCE_S)


def test_a_list_that_ends_with_its_channel_is_not_logged(
    client: GrpcCri, tiny: TinyCri, caplog: pytest.LogCaptureFixture
) -> None:
    tiny.answers["StreamContainers"] = (*PARTS, TinyCri.NEVER)
    answer = client.call(LIST_CONTAINERS, ListContainersRequest())
    until(lambda: bool(tiny.streams), PATIENCE_S, "nobody asks for the stream")
    client.close()
    assert isinstance(answer.exception(PATIENCE_S), CriError)
    assert caplog.messages == []
