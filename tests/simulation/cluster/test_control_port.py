"""Orders over HTTP: `actorlet simulate-cluster`, driven as a test in another language drives it."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from simulation.cluster import orders
from simulation.cluster.control_document import OF_PATH, document
from simulation.cluster.operator_orders import RecordRun, SweepOrder, TakeRecord

Json = dict[str, Any]


class Cluster:
    """A running `simulate-cluster`. `ask` gives it an order and returns (code, answer)."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "actorlet", "simulate-cluster", "--json", "--until-input-ends", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.facts: Json = json.loads(self.process.stdout.readline())
        authority = self.facts["certificate_authority"]
        self.trust = ssl.create_default_context(cafile=authority) if authority else None

    def ask(self, path: str, fields: object = None, **headers: str) -> tuple[int, Json]:
        body = None if fields is None else json.dumps(fields).encode()
        url = path if path.startswith("http") else self.facts["control"] + path
        request = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
        try:
            with urllib.request.urlopen(request, timeout=120, context=self.trust) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def order(self, name: str, /, **fields: object) -> Json:
        code, answer = self.ask(f"/v1/{name}", fields)
        assert code == 200, answer
        return answer

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(120)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    started = Cluster("--nodes", "2")
    yield started
    started.end()


@pytest.fixture(autouse=True)
def fresh(cluster: Cluster) -> None:
    cluster.order("reset")


def test_a_crash_is_seen_in_the_api_after_a_minute_of_cluster_time(cluster: Cluster):
    cluster.order("behave", name="web", knobs={"run-for": "3s,forever", "exit-code": "1"})
    spec = {"containers": [{"name": "app", "image": "nginx"}]}
    pods = f"{cluster.facts['url']}/api/v1/namespaces/default/pods"
    assert cluster.ask(pods, {"metadata": {"name": "web"}, "spec": spec})[0] == 201
    cluster.order("step", time="1m")
    _, pod = cluster.ask(f"{pods}/web")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 1
    assert "Running" in cluster.ask("/v1/explain?pod=web")[1]["text"]


def test_a_load_is_ready_without_a_template_and_loses_pods_with_a_node(cluster: Cluster):
    cluster.order("load", name="crowd", replicas=6)
    cluster.order("step", time="10s")
    assert cluster.ask("/v1/count-ready?name=crowd")[1] == {"ready": 6}
    cluster.order("kill-node", node="node-1")
    cluster.order("step", time="2m")
    assert cluster.ask("/v1/count-ready?name=crowd")[1]["ready"] < 6
    assert cluster.ask("/v1/troubles")[1]["pods"]


def test_requests_of_the_program_fail_by_order(cluster: Cluster):
    cluster.order("fail-requests", error="TooManyRequests", verb="create", resource="pods", times=1, retry_after="3s")
    cluster.order("fail-requests", error="Conflict", resource="podz")
    spec = {"containers": [{"name": "app", "image": "nginx"}]}
    pods = f"{cluster.facts['url']}/api/v1/namespaces/default/pods"
    code, status = cluster.ask(pods, {"metadata": {"name": "late"}, "spec": spec})
    assert (code, status["details"]["retryAfterSeconds"]) == (429, 3)
    assert cluster.ask(pods, {"metadata": {"name": "late"}, "spec": spec})[0] == 201
    (told,) = cluster.ask("/v1/unmatched")[1]["unmatched"]
    assert told.endswith("did you mean pods?")


@pytest.mark.parametrize(
    ("path", "fields", "code", "told"),
    [
        ("/v1/stp", None, 404, "did you mean /v1/step?"),
        ("/v1/step", None, 405, "takes POST"),
        ("/v1/now", {}, 405, "takes GET"),
        ("/v1/step", {"tim": "1m"}, 400, "time"),
        ("/v1/step", {"time": "soon"}, 400, "soon"),
        ("/v1/fail-requests", {"error": "Confict"}, 400, "did you mean Conflict?"),
        ("/v1/step", ["1m"], 400, "JSON object"),
        ("/v1/kill-node", {"node": "node-9"}, 400, "node-0, node-1"),
        ("/v1/explain?pod=none", None, 400, "there is no pod default/none"),
        ("/v1/begin", {}, 404, "no path '/v1/begin'"),
    ],
)
def test_a_wrong_order_is_refused_with_the_reason(cluster: Cluster, path: str, fields: object, code: int, told: str):
    refused, answer = cluster.ask(path, fields)
    assert refused == code
    assert told in answer["error"]


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Host": "evil.example"}])
def test_a_page_of_another_site_gives_no_orders(cluster: Cluster, headers: dict[str, str]):
    code, answer = cluster.ask("/v1/step", {}, **headers)
    assert code in (403, 421)
    assert answer["error"]


def test_the_document_describes_every_order(cluster: Cluster):
    code, served = cluster.ask("/openapi.json")
    assert code == 200
    assert set(served["paths"]) == {"/cluster", *OF_PATH}
    for path, operations in served["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
    references = json.dumps(served).split('"#/components/schemas/')[1:]
    assert {each.partition('"')[0] for each in references} <= set(served["components"]["schemas"])
    assert "order" not in served["components"]["schemas"]["Step"]["properties"]


def test_only_orders_that_need_the_same_process_are_left_out():
    left_out = set(get_args(orders.Order)) - set(OF_PATH.values())
    assert left_out == {orders.Begin, orders.Apply, orders.Limit, RecordRun, TakeRecord, *get_args(SweepOrder)}
    assert document("1")["info"]["version"] == "1"


def test_the_facts_are_told_again(cluster: Cluster):
    _, facts = cluster.ask("/cluster")
    assert facts == {name: value for name, value in cluster.facts.items() if name != "control"}


def test_the_cluster_ends_with_its_input_and_leaves_no_kubeconfig(tmp_path):
    kubeconfig = tmp_path / "kubeconfig"
    started = Cluster("--kubeconfig", str(kubeconfig), "--time", "x60")
    assert kubeconfig.exists()
    assert started.facts["speed"] == 60
    assert started.end() == 0
    assert not kubeconfig.exists()


def test_in_the_mode_auto_time_moves_while_an_order_or_a_watch_waits():
    started = Cluster("--no-tls", "--time", "auto", "--pause", "5ms")
    assert started.facts["time"] == "auto"
    assert started.order("behave", name="web", knobs={"start-delay": "30s"}) == {"seconds": 0.0}
    assert started.order("wait", time="1m") == {"seconds": 60.0}
    pods = f"{started.facts['url']}/api/v1/namespaces/default/pods"
    spec = {"containers": [{"name": "app", "image": "nginx"}]}
    assert started.ask(pods, {"metadata": {"name": "web"}, "spec": spec})[0] == 201
    with urllib.request.urlopen(f"{pods}?watch=true&timeoutSeconds=10000", timeout=120) as events:
        assert any(json.loads(line)["object"]["status"]["phase"] == "Running" for line in events)
    assert started.end() == 0


@pytest.mark.parametrize(
    ("option", "status", "told"),
    [
        (["--nodes", "0"], 2, "not a number from 1 to 1000"),
        (["--time", "x0"], 2, "time"),
        (["--pause", "1s"], 2, "the time is 'stepped'"),
        (["--start", "noon"], 2, "2026-01-31T09:00:00Z"),
        (["--memory", "much"], 2, "much"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(option: list[str], status: int, told: str):
    command = [sys.executable, "-m", "actorlet", "simulate-cluster", *option]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == status
    assert told in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("flag", ["--port", "--control-port"])
def test_a_port_in_use_is_told_with_the_flag_that_chooses_another(flag: str):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-m", "actorlet", "simulate-cluster", flag, str(taken.getsockname()[1])]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith(f"in use; choose another {flag}")
