"""Requests of a test's own clients that fail by order: with which answer, how often, and for whom."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import lightkube
import pytest
from kubernetes import client
from lightkube.resources.core_v1 import ConfigMap

from actorlet.testing import Cluster, ClusterError, ClusterWarning, cluster
from tests.simulation.cluster.plain_client import PODS, PlainClient, trusting

PATIENCE_S = 120.0
MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"
NOTES: Any = {"metadata": {"name": "notes"}}


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with cluster() as found:
        yield found


@pytest.fixture(autouse=True)
def fresh(shared: Cluster) -> None:
    shared.reset()


class Line:
    """One connection of a plain client."""

    def __init__(self, shared: Cluster) -> None:
        place = urlsplit(shared.url)
        assert place.hostname is not None
        self._connection = http.client.HTTPSConnection(
            place.hostname, place.port, timeout=PATIENCE_S, context=trusting(shared)
        )

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> None:
        data = None if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._connection.request(method, path, data, {"Content-Type": "application/json", **named})

    def answer(self) -> tuple[int, Any]:
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read() or b"{}")

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        self.send(method, path, body, **headers)
        return self.answer()


def every_order_has_struck(shared: Cluster) -> bool:
    with pytest.raises(TimeoutError) as given_up:
        shared.until(lambda: False, within="1s")
    return "no request has matched" not in str(given_up.value)


def test_a_client_is_told_to_come_back_later_and_then_succeeds(shared: Cluster) -> None:
    core: Any = client.CoreV1Api(shared.kubernetes())
    shared.fail_requests("TooManyRequests", verb="create", resource="configmaps", times=2, retry_after="7s")
    for _ in range(2):
        with pytest.raises(client.ApiException) as refused:
            core.create_namespaced_config_map("default", NOTES)
        assert refused.value.status == 429
        assert (refused.value.headers or {})["Retry-After"] == "7"
        status = json.loads(refused.value.body or "")
        assert (status["reason"], status["details"]["retryAfterSeconds"]) == ("TooManyRequests", 7)
    core.create_namespaced_config_map("default", NOTES)
    assert core.read_namespaced_config_map("notes", "default").metadata.name == "notes"


def test_an_update_meets_a_conflict_and_is_done_again(shared: Cluster) -> None:
    kube = shared.lightkube()
    kube.create(ConfigMap.from_dict({"metadata": {"name": "notes", "namespace": "default"}}))
    shared.fail_requests("Conflict", verb="update", resource="configmaps", name="notes", times=1)
    found = kube.get(ConfigMap, "notes")
    found.data = {"a": "1"}
    with pytest.raises(lightkube.ApiError) as refused:
        kube.replace(found)
    assert refused.value.status.code == 409
    assert "the object has been modified; please apply your changes to the latest version" in str(refused.value)
    kube.replace(found)
    assert kube.get(ConfigMap, "notes").data == {"a": "1"}


def test_agents_are_spared_and_clients_fail_until_told_otherwise(shared: Cluster, api: PlainClient) -> None:
    shared.fail_requests("ServiceUnavailable")
    web = shared.load("web", 2)
    shared.until(lambda: web.ready == 2)
    line = Line(shared)
    for _ in range(3):
        assert line.ask("GET", PODS)[0] == 503
    shared.heal()
    assert set(api.pods()) == {"web-0", "web-1"}


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        ("Unauthorized", 401, "Unauthorized"),
        ("Forbidden", 403, 'configmaps "notes" is forbidden: ordered by the test'),
        ("NotFound", 404, 'configmaps "notes" not found'),
        ("AlreadyExists", 409, 'configmaps "notes" already exists'),
        ("Conflict", 409, 'Operation cannot be fulfilled on configmaps "notes"'),
        ("Expired", 410, "too old"),
        ("TooManyRequests", 429, "please try again later"),
        ("InternalError", 500, "Internal error occurred: ordered by the test"),
        ("ServerTimeout", 500, "The get operation against configmaps could not be completed at this time"),
        ("ServiceUnavailable", 503, "the server is currently unable to handle the request"),
        ("Timeout", 504, "request did not complete within the allotted timeout"),
    ],
)
def test_each_reason_has_its_code_and_its_words(shared: Cluster, error: str, code: int, told: str) -> None:
    shared.fail_requests(error, name="notes", times=1)
    shared.fail_requests(error, name="notes", message="the moon is full")
    line = Line(shared)
    got, status = line.ask("GET", f"{MAPS}/notes")
    assert (got, status["kind"], status["reason"]) == (code, "Status", error)
    assert told in status["message"]
    assert line.ask("GET", f"{MAPS}/notes")[1]["message"] == "the moon is full"


@pytest.mark.parametrize(
    ("which", "method", "path", "body", "strikes"),
    [
        ({"resource": "configmaps"}, "GET", MAPS, None, True),
        ({"resource": "configmaps"}, "GET", PODS, None, False),
        ({"verb": "create", "name": "no*"}, "POST", MAPS, NOTES, True),
        ({"verb": "create", "name": "no*"}, "POST", MAPS, {"metadata": {"generateName": "note-"}}, True),
        ({"verb": "create", "name": "no*"}, "POST", MAPS, {"metadata": {"name": "other"}}, False),
        ({"verb": "list"}, "GET", f"{MAPS}/notes", None, False),
        ({"resource": "deployments"}, "GET", DEPLOYMENT, None, True),
        ({"resource": "deployments.apps"}, "GET", DEPLOYMENT, None, True),
        ({"resource": "deployments"}, "GET", f"{DEPLOYMENT}/scale", None, False),
        ({"resource": "*/scale"}, "GET", f"{DEPLOYMENT}/scale", None, True),
        ({"namespace": "kube-*"}, "GET", MAPS, None, False),
        ({"namespace": "default"}, "GET", MAPS, None, True),
        ({"user": "op"}, "GET", MAPS, None, False),
    ],
)
def test_patterns_say_which_requests_fail(
    shared: Cluster, which: Any, method: str, path: str, body: Any, strikes: bool
) -> None:
    shared.fail_requests("TooManyRequests", **which)
    assert (Line(shared).ask(method, path, body)[0] == 429) is strikes


def test_one_user_fails_and_another_does_not(shared: Cluster) -> None:
    shared.fail_requests("TooManyRequests", user="op")
    assert Line(shared).ask("GET", MAPS, Impersonate_User="op")[0] == 429
    assert Line(shared).ask("GET", MAPS, Impersonate_User="other")[0] == 200


def test_orders_strike_one_after_the_other(shared: Cluster) -> None:
    shared.fail_requests("TooManyRequests", times=2)
    shared.fail_requests("InternalError", times=1)
    line = Line(shared)
    assert [line.ask("GET", MAPS)[0] for _ in range(4)] == [429, 429, 500, 200]


def test_a_watch_whose_history_is_gone_is_told_so_in_its_stream(shared: Cluster) -> None:
    shared.fail_requests("Expired", verb="watch", times=1)
    code, event = Line(shared).ask("GET", f"{MAPS}?watch=1")
    assert code == 200
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_connection_breaks_before_the_request_or_after_it(shared: Cluster, api: PlainClient) -> None:
    shared.fail_requests("cut", verb="create", times=1)
    with pytest.raises(http.client.RemoteDisconnected):
        Line(shared).ask("POST", MAPS, NOTES)
    assert "notes" not in {one["metadata"]["name"] for one in api.ask("GET", MAPS)["items"]}
    shared.fail_requests("lost-answer", verb="create", times=1)
    with pytest.raises(http.client.RemoteDisconnected):
        Line(shared).ask("POST", MAPS, NOTES)
    assert api.ask("GET", f"{MAPS}/notes")["metadata"]["name"] == "notes"


def test_a_request_without_an_answer_hangs_until_it_is_healed(shared: Cluster, api: PlainClient) -> None:
    shared.fail_requests("no-answer", resource="secrets")
    line = Line(shared)
    line.send("GET", "/api/v1/secrets")
    assert any(every_order_has_struck(shared) for _ in range(10_000))
    api.ask("GET", MAPS)
    shared.heal()
    with pytest.raises(http.client.RemoteDisconnected):
        line.answer()


@pytest.mark.parametrize("error", ["Forbidden", "cut"])
def test_sessions_fail_as_well(shared: Cluster, api: PlainClient, error: str) -> None:
    api.create_pod("web")
    shared.until(lambda: api.is_ready("web"))
    shared.fail_requests(error, resource="pods/exec")
    line = Line(shared)
    line.send("POST", f"{PODS}/web/exec?command=true&stdout=1", Connection="Upgrade", Upgrade="SPDY/3.1")
    if error == "cut":
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            line.answer()
    else:
        assert line.answer()[0] == 403


def test_an_order_that_means_nothing_is_refused(shared: Cluster) -> None:
    with pytest.raises(ClusterError, match=r"did you mean Conflict\?"):
        shared.fail_requests("conflict")
    with pytest.raises(ClusterError, match=r"\$.verb"):
        shared.fail_requests("Conflict", verb="post")
    with pytest.raises(ClusterError, match="cut has no answer; leave out retry_after and message"):
        shared.fail_requests("cut", retry_after="2s")
    with pytest.raises(ClusterError, match="retry_after '100ms' is not in whole seconds"):
        shared.fail_requests("Conflict", retry_after="100ms")


def test_a_pattern_that_matches_nothing_is_told_of() -> None:
    found = cluster()
    found.fail_requests("Conflict", resource="configmap")
    found.fail_requests("Conflict", verb="delete", resource="pods", name="web-*", times=1)
    found.fail_requests("Conflict", resource="pods", verb="list", times=1)
    line = Line(found)
    assert [line.ask("GET", PODS)[0] for _ in range(2)] == [409, 200]
    with pytest.raises(TimeoutError, match=r"resource='configmap'\); did you mean configmaps\?"):
        found.until(lambda: False, within="1s")
    with pytest.warns(ClusterWarning) as told:
        found.__exit__(None, None, None)
    assert [str(one.message) for one in told] == [
        "no request has matched fail_requests('Conflict', resource='configmap'); did you mean configmaps?",
        "no request has matched fail_requests('Conflict', verb='delete', resource='pods', name='web-*'); "
        "requests since then: list pods",
    ]
