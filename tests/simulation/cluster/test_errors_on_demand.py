"""Errors that a test orders, as users of a real cluster read them; and orders that match no pod."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from actorlet.testing import Cluster, ClusterError, ClusterWarning, cluster
from tests.simulation.cluster.plain_client import Json, PlainClient


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


def waiting(api: PlainClient, pod: str) -> Json:
    (status,) = api.pod(pod)["status"].get("containerStatuses") or [{}]
    found: Json = status.get("state", {}).get("waiting", {})
    return found


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("not-found", "registry.example/app:1: not found"),
        ("unauthorized", "pull access denied, repository does not exist or may require authorization"),
        ("rate-limited", "registry.example/v2/app/manifests/1: 429 Too Many Requests"),
        ("no-space", "no space left on device"),
        ("timeout", "dial tcp: i/o timeout"),
    ],
)
def test_a_pull_fails_as_users_know_it(shared: Cluster, api: PlainClient, error: str, told: str) -> None:
    name = f"pull-{error}"
    shared.behave(name, fail=f"PullImage={error}")
    api.create_pod(name)
    shared.until(lambda: waiting(api, name).get("reason") == "ImagePullBackOff")
    message = waiting(api, name)["message"]
    assert 'failed to pull and unpack image "registry.example/app:1"' in message
    assert told in message
    api.delete_pod(name)


def test_an_error_of_the_tests_own_goes_after_some_tries(shared: Cluster, api: PlainClient) -> None:
    shared.behave("odd", fail="StartContainer=no-space*2", fail_text="the moon is full")
    api.create_pod("odd")
    shared.until(lambda: "the moon is full" in waiting(api, "odd").get("message", ""))
    shared.until(lambda: api.phase("odd") == "Running")
    api.delete_pod("odd")


def test_a_full_disk_and_a_slow_runtime_are_read_in_the_status(shared: Cluster, api: PlainClient) -> None:
    shared.behave("full", fail="StartContainer=no-space")
    shared.behave("slow", fail="CreateContainer=timeout")
    for name in ("full", "slow"):
        api.create_pod(name)
    shared.until(lambda: "no space left on device" in waiting(api, "full").get("message", ""))
    shared.until(lambda: "context deadline exceeded" in waiting(api, "slow").get("message", ""))


def test_an_error_that_there_is_not_is_refused_with_the_nearest(shared: Cluster) -> None:
    with pytest.raises(ClusterError, match=r"'unautorized' is not a failure; did you mean unauthorized\?"):
        shared.behave("web", fail="PullImage=unautorized")
    with pytest.raises(ClusterError, match="a failure of StartContainer is one of no-space, timeout, or a gRPC code"):
        shared.behave("web", fail="StartContainer=rate-limited")


def test_a_pattern_that_matches_nothing_is_told_of() -> None:
    found = cluster()
    found.behave("wbe-*", run_for="3s")
    found.behave("web-*", exit_code=1)
    web = found.load("web", 1)
    found.until(lambda: web.ready == 1)
    with pytest.raises(TimeoutError, match=r"after 5s of the cluster's time\n  no pod has matched behave\('wbe-"):
        found.until(lambda: False, within="5s")
    with pytest.warns(ClusterWarning, match=r"no pod has matched behave\('wbe-\*'\); there are web-0"):
        found.__exit__(None, None, None)


def test_a_pattern_of_pods_that_are_gone_is_good() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with cluster() as found:
            found.behave("once", namespace="default", run_for="3s")
            api = PlainClient(found)
            api.create_pod("once", restartPolicy="Never")
            found.until(lambda: api.phase("once") == "Succeeded")
            api.delete_pod("once")
            found.step("1m")
            assert api.pods() == {}
