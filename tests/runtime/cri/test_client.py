"""The client against the server, over a real socket: what arrives, what fails, and how it is said."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import CancelledError, Future
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from runtime.cri import ALL_VERBS, CriError, StatusCode
from runtime.cri.client import GrpcCri
from runtime.cri.endpoint import CriEndpoint, EndpointError, knock, parse_endpoint, socket_fault
from runtime.cri.messages import (
    Container,
    ContainerEventResponse,
    ContainerStatusRequest,
    ExecSyncRequest,
    ExecSyncResponse,
    GetEventsRequest,
    ImageSpec,
    ListContainersRequest,
    ListContainersResponse,
    PullImageRequest,
    PullImageResponse,
    StatusRequest,
    StatusResponse,
    StopContainerRequest,
    StopContainerResponse,
    VersionRequest,
)
from runtime.cri.server import CriServer, ServeError
from runtime.cri.verbs import (
    CONTAINER_STATUS,
    EXEC_SYNC,
    GET_CONTAINER_EVENTS,
    LIST_CONTAINERS,
    PULL_IMAGE,
    STATUS,
    STOP_CONTAINER,
    VERSION,
)
from tests.ports import free_port
from tests.real.waiting import until
from tests.runtime.cri.tiny import TinyCri, TinyStream

SECOND_NS = 10**9
PATIENCE_S = 60.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cri.sock")


@pytest.fixture
def tiny() -> TinyCri:
    return TinyCri()


@pytest.fixture
def server(tiny: TinyCri, path: str) -> Iterator[CriServer]:
    with CriServer(tiny, f"unix://{path}") as serving:
        yield serving


@pytest.fixture
def client(path: str) -> Iterator[GrpcCri]:
    with GrpcCri(f"unix://{path}") as speaking:
        yield speaking


def refusal(answer: Any) -> CriError:
    error = answer.exception(PATIENCE_S)
    assert isinstance(error, CriError)
    return error


@pytest.mark.usefixtures("server")
class TestCalls:
    @pytest.mark.parametrize("verb", [verb for verb in ALL_VERBS if not verb.streaming], ids=str)
    def test_every_verb_reaches_the_runtime_and_its_answer_comes_back(
        self, verb: Any, client: GrpcCri, tiny: TinyCri
    ) -> None:
        tiny.answers[verb.name] = verb.response()
        assert client.call(verb, verb.request()).result(PATIENCE_S) == verb.response()
        assert tiny.asked[-1][:2] == (verb.name, verb.request())

    def test_an_answer_of_eight_mebibytes_arrives_whole(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["ExecSync"] = ExecSyncResponse(stdout=b"x" * (8 << 20))
        answer = client.call(EXEC_SYNC, ExecSyncRequest(cmd=("cat",) * 1000)).result(PATIENCE_S)
        assert len(answer.stdout) == 8 << 20

    def test_an_answer_beyond_the_limit_fails_and_the_next_call_works(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["ExecSync"] = ExecSyncResponse(stdout=b"x" * (17 << 20))
        assert refusal(client.call(EXEC_SYNC, ExecSyncRequest())).code == StatusCode.RESOURCE_EXHAUSTED
        assert client.call(VERSION, VersionRequest()).result(PATIENCE_S).runtime_name == "tiny"

    def test_a_list_of_thousands_arrives_in_order(self, client: GrpcCri, tiny: TinyCri) -> None:
        containers = tuple(Container(id=f"{number:064d}", labels={"a": "b"}) for number in range(5000))
        tiny.answers["ListContainers"] = ListContainersResponse(containers=containers)
        assert client.call(LIST_CONTAINERS, ListContainersRequest()).result(PATIENCE_S).containers == containers

    def test_an_error_keeps_code_words_and_verb(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["ContainerStatus"] = CriError(StatusCode.NOT_FOUND, "no container «ä»", "ContainerStatus")
        error = refusal(client.call(CONTAINER_STATUS, ContainerStatusRequest(container_id="a")))
        assert (error.code, error.message, error.verb) == (StatusCode.NOT_FOUND, "no container «ä»", "ContainerStatus")
        assert error.not_found
        assert not error.outcome_unknown

    def test_a_crash_of_the_runtime_is_an_error_of_unknown_outcome(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["Status"] = KeyError("lost")
        error = refusal(client.call(STATUS, StatusRequest()))
        assert (error.code, error.outcome_unknown) == (StatusCode.UNKNOWN, True)
        assert "KeyError" in error.message

    def test_a_verb_the_runtime_lacks_is_unimplemented(self, client: GrpcCri) -> None:
        assert refusal(client.call(EXEC_SYNC, ExecSyncRequest())).code == StatusCode.UNIMPLEMENTED

    def test_a_request_that_cannot_be_sent_is_a_failed_answer_not_an_exception(self, client: GrpcCri) -> None:
        error = refusal(client.call(STOP_CONTAINER, StopContainerRequest(timeout=2**63)))
        assert error.code == StatusCode.INVALID_ARGUMENT

    def test_the_deadline_ends_the_call_on_both_sides(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["Status"] = TinyCri.NEVER
        client.call(VERSION, VersionRequest()).result(PATIENCE_S)  # connected, so that the time is the verb's alone
        error = refusal(client.call(STATUS, StatusRequest(), timeout_ns=SECOND_NS // 2))
        assert (error.code, error.outcome_unknown) == (StatusCode.DEADLINE_EXCEEDED, True)
        (held,) = tiny.left
        assert_cancelled(held)
        (_, _, timeout_ns) = tiny.asked[-1]
        assert timeout_ns is not None
        assert timeout_ns < SECOND_NS

    def test_cancelling_the_answer_cancels_in_the_runtime(self, client: GrpcCri, tiny: TinyCri) -> None:
        asked = threading.Event()

        def hold(_: Any) -> object:
            asked.set()
            return TinyCri.NEVER

        tiny.answers["Status"] = hold
        answer = client.call(STATUS, StatusRequest())
        assert asked.wait(PATIENCE_S)
        assert answer.cancel()
        with pytest.raises(CancelledError):
            answer.result(PATIENCE_S)
        client.call(VERSION, VersionRequest()).result(PATIENCE_S)
        assert_cancelled(tiny.left[0])

    @pytest.mark.parametrize(
        ("verb", "request_", "limit_s"),
        [
            (VERSION, VersionRequest(), 120),
            (STOP_CONTAINER, StopContainerRequest(timeout=30), 150),
            (PULL_IMAGE, PullImageRequest(image=ImageSpec(image="a")), None),
        ],
        ids=lambda value: str(value)[:14],
    )
    def test_a_call_has_the_deadline_of_its_verb(
        self, verb: Any, request_: Any, limit_s: int | None, client: GrpcCri, tiny: TinyCri
    ) -> None:
        tiny.answers |= {"StopContainer": StopContainerResponse(), "PullImage": PullImageResponse()}
        client.call(verb, request_).result(PATIENCE_S)
        (_, _, timeout_ns) = tiny.asked[-1]
        if limit_s is None:
            assert timeout_ns is None
        else:
            assert timeout_ns is not None
            assert limit_s - 10 < timeout_ns / SECOND_NS <= limit_s + 1  # gRPC rounds what it sends up

    def test_a_thousand_calls_in_flight_cost_no_thread_each(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["Status"] = TinyCri.NEVER
        client.call(VERSION, VersionRequest()).result(PATIENCE_S)
        before = threading.active_count()
        answers = [client.call(STATUS, StatusRequest()) for _ in range(1000)]
        client.call(VERSION, VersionRequest()).result(PATIENCE_S)
        assert threading.active_count() <= before + 2
        while len(tiny.left) < 1000:
            client.call(VERSION, VersionRequest()).result(PATIENCE_S)
        for held in tiny.left:
            held.set_result(StatusResponse())
        futures.wait([answer for answer in answers if isinstance(answer, Future)], PATIENCE_S)
        assert all(answer.result(0) == StatusResponse() for answer in answers)

    def test_a_closed_client_says_so(self, client: GrpcCri) -> None:
        client.close()
        error = refusal(client.call(VERSION, VersionRequest()))
        assert (error.code, error.message) == (StatusCode.CANCELLED, "the client is closed")


def assert_cancelled(held: Future[Any]) -> None:
    with pytest.raises(CancelledError):
        held.result(PATIENCE_S)


class Taken:
    """What a stream delivers."""

    def __init__(self) -> None:
        self.items: Queue[Any] = Queue()
        self.end: Future[CriError | None] = Future()

    def next(self) -> Any:
        return self.items.get(timeout=PATIENCE_S)


EVENTS = tuple(ContainerEventResponse(container_id=name) for name in "abc")


@pytest.mark.usefixtures("server")
class TestStreams:
    def follow(self, client: GrpcCri) -> tuple[Taken, Any]:
        taken = Taken()
        closing = client.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), taken.items.put, taken.end.set_result)
        return taken, closing

    def test_items_come_in_order_and_the_end_comes_once(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["GetContainerEvents"] = EVENTS
        taken, _ = self.follow(client)
        assert taken.end.result(PATIENCE_S) is None
        assert [taken.next() for _ in EVENTS] == list(EVENTS)
        assert taken.items.empty()

    def test_a_stream_that_breaks_says_why(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["GetContainerEvents"] = (EVENTS[0], CriError(StatusCode.UNAVAILABLE, "restarting", "x"))
        taken, _ = self.follow(client)
        error = taken.end.result(PATIENCE_S)
        assert taken.next() == EVENTS[0]
        assert error is not None
        assert (error.code, error.message, error.verb) == (StatusCode.UNAVAILABLE, "restarting", "GetContainerEvents")

    def test_closing_ends_it_on_both_sides_without_an_error(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["GetContainerEvents"] = (EVENTS[0], TinyCri.NEVER)
        taken, closing = self.follow(client)
        assert taken.next() == EVENTS[0]
        closing.close()
        assert taken.end.result(PATIENCE_S) is None
        served: TinyStream = tiny.streams[0]
        served.closed.result(PATIENCE_S)

    def test_a_taker_that_raises_ends_the_stream(self, client: GrpcCri, tiny: TinyCri) -> None:
        tiny.answers["GetContainerEvents"] = (EVENTS[0], TinyCri.NEVER)
        end: Future[CriError | None] = Future()

        def choke(_: Any) -> None:
            raise ValueError("full")

        client.stream(GET_CONTAINER_EVENTS, GetEventsRequest(), choke, end.set_result)
        error = end.result(PATIENCE_S)
        assert error is not None
        assert (error.code, "full" in error.message) == (StatusCode.INTERNAL, True)
        tiny.streams[0].closed.result(PATIENCE_S)


class TestRestart:
    def test_a_runtime_that_comes_back_is_found_within_a_second(
        self, client: GrpcCri, tiny: TinyCri, path: str
    ) -> None:
        with CriServer(tiny, path):
            client.call(VERSION, VersionRequest()).result(PATIENCE_S)
        assert refusal(client.call(VERSION, VersionRequest())).code == StatusCode.UNAVAILABLE
        with CriServer(tiny, path):
            retry(client)

    # (spec 2.2.4)
    def test_a_runtime_that_comes_late_is_found_within_a_second(
        self, client: GrpcCri, tiny: TinyCri, path: str
    ) -> None:
        for _ in range(50):
            assert refusal(client.call(VERSION, VersionRequest())).code == StatusCode.UNAVAILABLE
        with CriServer(tiny, path):
            retry(client)

    def test_calls_in_flight_fail_when_the_runtime_dies(self, client: GrpcCri, path: str) -> None:
        asked = threading.Event()

        def hold(_: Any) -> object:
            asked.set()
            return TinyCri.NEVER

        with CriServer(TinyCri(Status=hold), path):
            answer = client.call(STATUS, StatusRequest())
            assert asked.wait(PATIENCE_S)
        assert refusal(answer).outcome_unknown


class TestNobodyAnswers:
    """The text says why, and what to do."""

    def test_no_socket(self, client: GrpcCri, path: str) -> None:
        text = f"unix://{path}: there is no such socket; start the runtime"
        assert text in refusal(client.call(VERSION, VersionRequest())).message

    def test_a_socket_left_behind(self, client: GrpcCri, path: str) -> None:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(path)
        assert "nobody listens" in refusal(client.call(VERSION, VersionRequest())).message

    def test_a_file_in_place_of_the_socket(self, client: GrpcCri, path: str) -> None:
        Path(path).touch()
        assert "is not a socket" in refusal(client.call(VERSION, VersionRequest())).message

    @pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
    def test_a_socket_that_is_closed_to_us(self, code: int) -> None:
        fault = socket_fault(CriEndpoint("/run/cri.sock"), code)
        assert f"user {os.geteuid()} may not use the socket" in fault


def retry(client: GrpcCri) -> None:
    """Ask until it answers."""
    until(
        lambda: client.call(VERSION, VersionRequest()).exception(PATIENCE_S) is None,
        PATIENCE_S,
        "the runtime is not found again",
    )


class TestServer:
    def test_a_socket_in_use_is_not_taken_over(self, server: CriServer, path: str, tiny: TinyCri) -> None:
        with pytest.raises(ServeError, match="served already"):
            CriServer(tiny, path).start()
        assert knock(parse_endpoint(path)) is None

    def test_a_socket_left_behind_is_replaced(self, tiny: TinyCri, path: str, client: GrpcCri) -> None:
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(path)
        with CriServer(tiny, path):
            assert client.call(VERSION, VersionRequest()).result(PATIENCE_S).runtime_name == "tiny"

    def test_a_file_and_a_missing_directory_are_refused(self, tiny: TinyCri, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(ServeError, match="is not a socket"):
            CriServer(tiny, str(tmp_path / "file")).start()
        with pytest.raises(ServeError, match="there is no directory"):
            CriServer(tiny, str(tmp_path / "none" / "cri.sock")).start()

    def test_it_can_be_served_and_found_over_tcp(self, tiny: TinyCri) -> None:
        port = free_port()
        with CriServer(tiny, f"tcp://127.0.0.1:{port}"), GrpcCri(f"tcp://127.0.0.1:{port}") as client:
            assert client.call(VERSION, VersionRequest()).result(PATIENCE_S).runtime_name == "tiny"


class TestEndpoint:
    @pytest.mark.parametrize(
        ("text", "target"),
        [
            ("unix:///run/containerd/containerd.sock", "unix:/run/containerd/containerd.sock"),
            ("/run/cri.sock", "unix:/run/cri.sock"),
            ("tcp://127.0.0.1:8989", "dns:///127.0.0.1:8989"),
            ("tcp://[::1]:8989", "dns:///[::1]:8989"),
        ],
    )
    def test_valid_endpoints_are_parsed(self, text: str, target: str) -> None:
        assert parse_endpoint(text).target == target

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "run/cri.sock",
            "unix://run/cri.sock",
            "unix:///run/",
            "npipe:////./pipe/x",
            "tcp://host",
            "tcp://h:x",
            "/" + "long" * 30,
            "http://h:1",
        ],
    )
    def test_an_invalid_endpoint_is_refused_and_quoted(self, text: str) -> None:
        with pytest.raises(EndpointError) as refused:
            parse_endpoint(text)
        assert repr(text) in str(refused.value)
