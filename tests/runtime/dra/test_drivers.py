"""Drivers for dynamic resource allocation over real sockets, and the bounds on what they say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from runtime.cri.errors import StatusCode
from runtime.dra.capability import (
    BELIEVED_NS,
    DEVICES_AT_MOST,
    ClaimDevice,
    ClaimRef,
    DeviceHealth,
    Health,
    Prepared,
)
from runtime.dra.client import GrpcDraDriver
from runtime.dra.drivers import grpc_drivers
from runtime.dra.v1 import dra_pb2 as messages
from runtime.dra.wire import health_in, health_message, prepared_in, prepared_message, unprepared_in
from runtime.plugins.errors import PluginError
from tests.dra_driver.driver import SampleDriver

A, B = ClaimRef("default", "a", "uid-a"), ClaimRef("default", "b", "uid-b")
DEVICE = ClaimDevice("pool", "gpu-0", ("one", "two"), ("gpu.example.com/gpu=0", "gpu.example.com/gpu=all"), "s1")
PATIENCE_S = 60.0


@pytest.fixture
def sample() -> Iterator[SampleDriver]:
    # The path of a socket has 107 characters at most.
    with (
        TemporaryDirectory(prefix="dra") as root,
        SampleDriver(Path(root), devices=lambda _: (DEVICE,), services=("v1beta1.DRAPlugin", "v1.DRAPlugin")) as driver,
    ):
        yield driver


@pytest.mark.parametrize("service", ["v1.DRAPlugin", "v1beta1.DRAPlugin"])
# (spec 10.12.1)
def test_claims_are_prepared_and_unprepared_together(sample: SampleDriver, service: str) -> None:
    asked: list[tuple[str, str]] = []
    driver = GrpcDraDriver(str(sample.path), service, lambda path, code, _: asked.append((path, code)))
    sample.fails["uid-b"] = "no such device"
    found = driver.prepare((A, B))
    assert found == {"uid-a": Prepared((DEVICE,)), "uid-b": Prepared(error="no such device")}
    assert driver.unprepare((A, B)) == {"uid-a": "", "uid-b": "no such device"}
    both = ("uid-a", "uid-b")
    assert sample.calls == [("NodePrepareResources", both), ("NodeUnprepareResources", both)]
    package = service.partition(".")[0]
    assert asked[0] == (f"/k8s.io.kubelet.pkg.apis.dra.{package}.DRAPlugin/NodePrepareResources", "OK")


def test_an_error_of_the_whole_call_is_an_error(sample: SampleDriver) -> None:
    sample.fails["NodePrepareResources"] = "the card is on fire"
    with pytest.raises(PluginError, match="the card is on fire"):
        GrpcDraDriver(str(sample.path), "v1.DRAPlugin").prepare((A,))


def test_a_driver_that_is_not_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="there is no such socket") as raised:
        GrpcDraDriver(str(tmp_path / "none.sock"), "v1.DRAPlugin").prepare((A,))
    assert raised.value.code == StatusCode.UNAVAILABLE


def test_health_comes_as_the_driver_tells_it_and_ends_with_it(sample: SampleDriver) -> None:
    news: Queue[Any] = Queue()
    first = DeviceHealth("pool", "gpu-0", Health.UNHEALTHY, 7, 5 * 10**9, "too hot")
    second = DeviceHealth("pool", "gpu-0", Health.HEALTHY, 9)
    GrpcDraDriver(str(sample.path), "v1.DRAPlugin").watch_health(news.put, news.put)
    sample.say_health(first)
    assert news.get(timeout=PATIENCE_S) == (first,)
    sample.say_health(second)
    assert news.get(timeout=PATIENCE_S) == (second,)
    sample.stop()
    assert isinstance(news.get(timeout=PATIENCE_S), str)


def test_health_of_a_driver_that_registers_before_it_listens_comes_without_another_attempt(
    sample: SampleDriver,
) -> None:
    news: Queue[Any] = Queue()
    root, said = sample.registration.parents[1], DeviceHealth("pool", "gpu-0", Health.HEALTHY, 7, 5 * 10**9)
    sample.stop()
    watching = GrpcDraDriver(str(sample.path), "v1.DRAPlugin").watch_health(news.put, news.put)
    with SampleDriver(root, devices=lambda _: (DEVICE,)) as again:
        again.say_health(said)
        assert news.get(timeout=PATIENCE_S) == (said,)
        watching.close()


# (spec 10.12.3)
def test_a_connection_that_breaks_is_told_and_so_is_the_next_one(sample: SampleDriver) -> None:
    told: Queue[bool] = Queue()
    driver = GrpcDraDriver(str(sample.path), "v1.DRAPlugin")
    watching = driver.watch_connection(told.put)
    assert told.get(timeout=PATIENCE_S) is True
    sample.stop()
    assert told.get(timeout=PATIENCE_S) is False
    root = sample.registration.parents[1]
    with SampleDriver(root, devices=lambda _: (DEVICE,)) as again:
        assert driver.prepare((A,)) == {"uid-a": Prepared((DEVICE,))}
        while not told.get(timeout=PATIENCE_S):
            """It tries again and again."""
        assert again.prepared == {"uid-a"}
        watching.close()
    driver.close()


# (spec 10.12.1)
def test_the_newest_of_two_sockets_counts_and_the_older_one_when_that_goes(tmp_path: Path) -> None:
    drivers = grpc_drivers()
    for each in ("old", "new"):
        drivers.register("gpu.example.com", str(tmp_path / each), "v1.DRAPlugin")
    for endpoint in ("new", "old"):
        found = drivers.find("gpu.example.com")
        assert found is not None
        assert found.endpoint == str(tmp_path / endpoint)
        drivers.unregister("gpu.example.com", str(tmp_path / endpoint))
    assert drivers.find("gpu.example.com") is None
    assert drivers.names() == ()


@pytest.mark.parametrize("again", [True, False])
def test_the_connection_of_an_old_registration_is_closed_after_its_last_call(sample: SampleDriver, again: bool) -> None:
    drivers = grpc_drivers()
    old = drivers.register("one", str(sample.path), "v1.DRAPlugin")
    assert old.prepare((A,)) == {"uid-a": Prepared((DEVICE,))}
    if again:
        drivers.register("one", str(sample.path), "v1.DRAPlugin")
    else:
        drivers.unregister("one", str(sample.path))
    with pytest.raises(PluginError, match="the connection was closed"):
        old.prepare((A,))
    assert (drivers.find("one") is not None) is again


def test_an_answer_for_a_claim_that_nobody_asked_for_is_refused() -> None:
    with pytest.raises(PluginError, match="NodePrepareResources returned result for unknown claim UID uid-b"):
        prepared_in(prepared_message({"uid-b": Prepared()}), (A,))
    answer = messages.NodeUnprepareResourcesResponse()
    answer.claims["uid-b"].error = ""
    with pytest.raises(PluginError, match="NodeUnprepareResources returned result for unknown claim UID uid-b"):
        unprepared_in(answer, (A,))


@pytest.mark.parametrize(
    "prepared",
    [Prepared((ClaimDevice("p", "d"),) * (DEVICES_AT_MOST + 1)), Prepared((ClaimDevice("p", "x" * 10**6),))],
    ids=["devices", "names"],
)
def test_what_a_driver_says_of_a_claim_is_bounded(prepared: Prepared) -> None:
    with pytest.raises(PluginError, match=r"4096 is the most|more than 1024 characters"):
        prepared_in(prepared_message({"uid-a": prepared}), (A,))


# (spec 10.12.4)
def test_health_has_a_message_of_1024_characters_and_counts_for_30_seconds_unless_told() -> None:
    (found,) = health_in(
        health_message((DeviceHealth("p", "d", Health.UNKNOWN, 1, 0, "x" * 2000),)).SerializeToString()
    )
    assert len(found.message) == 1024
    assert found.message.endswith("x...")
    assert found.believed_ns == BELIEVED_NS


def test_health_that_is_no_message_or_too_much_is_an_error() -> None:
    many = (DeviceHealth("p", "d", Health.HEALTHY),) * (DEVICES_AT_MOST + 1)
    for data in (b"\xff\xff", health_message(many).SerializeToString()):
        with pytest.raises(PluginError):
            health_in(data)
