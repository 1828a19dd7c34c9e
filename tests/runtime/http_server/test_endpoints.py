"""The node's server on real sockets, before a simulated node and an API server that is asked who may."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.kernel import PoolDispatcher
from cli.run.node_server import NodeWindow, Serving, configuration_shown, node_server
from config.kubelet import KubeletConfiguration
from config.kubelet.configuration import Authentication, X509Authentication
from config.kubelet.feature_gates import FeatureGates
from runtime.api import ApiLines
from runtime.http_server.auth.access import attributes_of
from runtime.http_server.node_server import NodeServer, Ports, PortTakenError, ports_of
from runtime.io.event_loop import LoopThread
from simulation.apiserver.core import Options
from simulation.apiserver.front.in_process import InProcessApi
from simulation.apiserver.server import ApiServer
from simulation.cri import Settings
from simulation.node.simulated_node import SimulatedNode
from tests.real.waiting import until
from tests.runtime.http_server.authorities import authority, client_context
from tests.runtime.http_server.clients import Client, Said, ask, said

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: main, image: busybox}]}
"""
ANY = {"GET", "POST", "PUT", "PATCH", "DELETE"}
THERE: dict[str, set[str]] = {
    "/healthz": {"GET"},
    "/healthz/ping": {"GET"},
    "/livez": {"GET"},
    "/readyz": {"GET"},
    "/pods": {"GET"},
    "/runningpods/": {"GET"},
    "/containerLogs/default/web-n/main": {"GET"},
    "/exec/default/web-n/main": {"GET", "POST"},
    "/exec/default/web-n/uid/main": {"GET", "POST"},
    "/attach/default/web-n/main": {"GET", "POST"},
    "/attach/default/web-n/uid/main": {"GET", "POST"},
    "/portForward/default/web-n": {"GET", "POST"},
    "/portForward/default/web-n/uid": {"GET", "POST"},
    "/run/default/web-n/main": {"POST"},
    "/run/default/web-n/uid/main": {"POST"},
    "/checkpoint/default/web-n/main": {"POST"},
    "/logs": {"GET"},
    "/logs/": {"GET"},
    "/logs/deep/file": {"GET"},
    "/configz": {"GET"},
    "/statusz": {"GET"},
    "/flagz": {"GET"},
    "/debug/pprof/": {"GET"},
    "/debug/pprof/cmdline": {"GET"},
    "/debug/pprof/goroutine": {"GET"},
    "/debug/pprof/symbol": {"GET"},
    "/debug/pprof/trace": {"GET"},
    "/debug/flags/v": {"PUT"},
    "/manifests": {"GET", "POST"},
    "/manifests/default/web": {"GET", "DELETE"},
    "/ui": {"GET"},
    "/ui/observer.js": {"GET"},
    "/ui/observer.css": {"GET"},
    "/ui/pods/uid": {"GET"},
}
ONLY_WATCHED = ("/ui/live/stream",)
"""An answer that does not end."""
NOT_THERE = ("/", "/nothing", "/stats/summary/more", "/containerLogs/a/b", "/exec", "/pods/x")


@dataclass
class Served:
    """A node with its server."""

    node: SimulatedNode
    server: NodeServer
    admin: ssl.SSLContext
    stranger: ssl.SSLContext
    nobody: ssl.SSLContext

    @property
    def port(self) -> int:
        assert self.server.ports.main is not None
        return self.server.ports.main

    def ask(self, target: str, method: str = "GET", **headers: str) -> Said:
        """As the admin."""
        return ask(self.port, target, method, self.admin, **headers)

    def upgrade(self, target: str, who: ssl.SSLContext) -> Said:
        with closing(Client(self.port, who)) as client:
            client.send(f"POST {target} HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
            return said(client.rest())


@contextmanager
def served(directory: Path, gates: FeatureGates | None = None, **fields: Any) -> Iterator[Served]:
    """With one pod that runs. `fields` are of the configuration."""
    signer = authority()
    (directory / "ca.crt").write_text(signer.certificate)
    x509 = X509Authentication(client_ca_file=str(directory / "ca.crt"))
    authentication = msgspec.structs.replace(Authentication(), x509=x509)
    configuration = KubeletConfiguration(**{"authentication": authentication, **fields})
    with ExitStack() as after:
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        api_server = ApiServer(dispatcher, Options(seed=1, authorization="Node", tokens={"admin-token": "admin"}))
        api = InProcessApi(dispatcher, api_server)
        node = SimulatedNode(
            dispatcher,
            name="n",
            manifests={"web.yaml": MANIFEST},
            settings=Settings(images=("busybox",)),
            accept_manifests=True,
        )
        loop = after.enter_context(closing(LoopThread("served")))
        (directory / "log" / "deep").mkdir(parents=True)
        (directory / "log" / "deep" / "file").write_text("a line of the node\n")
        serving = Serving(
            "n",
            configuration,
            str(directory / "pki"),
            ("n", "127.0.0.1"),
            {"root-dir": "/r"},
            root=str(directory / "root"),
            manifests=True,
            gates=gates,
            system_logs=str(directory / "log"),
        )
        ports = Ports(main=0, read_only=0, health=0)
        window, lines = NodeWindow(node.node), ApiLines(api, api, api)
        server = node_server(serving, ports, window, node.cri, node.host.log_files, lines, loop)
        server.start()
        after.callback(server.close)
        node.start()
        after.callback(node.stop)
        until(lambda: _runs(node), 30, "the pod does not run")
        yield Served(
            node,
            server,
            client_context(directory, signer, "admin", "system:masters"),
            client_context(directory, signer, "bob", "team"),
            client_context(directory, None),
        )


def _runs(node: SimulatedNode) -> bool:
    return any(pod.status is not None and pod.status.phase == "Running" for pod in node.pods())


def test_the_configuration_is_shown_without_what_lets_the_node_in_elsewhere() -> None:
    told = KubeletConfiguration(
        static_pod_url="https://node:secret@host/?token=abcdef", static_pod_url_header={"Authorization": ("Basic x",)}
    )
    shown = configuration_shown(told)
    assert shown.static_pod_url == "https://node:***@host/?token=***"
    assert shown.static_pod_url_header == {"Authorization": ("***",)}


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.mark.parametrize("path", [*THERE, *ONLY_WATCHED, *NOT_THERE])
# (spec 11.4.1)
def test_without_rights_every_path_and_method_is_refused(there: Served, path: str) -> None:
    for method in ANY:
        assert ask(there.port, path, method, there.nobody).status == 401
        assert ask(there.port, path, method, there.nobody, Authorization="Bearer wrong").status == 401
        refused = ask(there.port, path, method, there.stranger)
        assert refused.status == 403
        subresources = " ".join(each.subresource for each in attributes_of(method, path))
        verb = attributes_of(method, path)[0].verb
        expected = f"Forbidden (user=bob, verb={verb}, resource=nodes, subresource(s)=[{subresources}])"
        assert refused.body == expected


@pytest.mark.parametrize("path", THERE)
def test_with_rights_methods_are_those_that_there_are(there: Served, path: str) -> None:
    allowed = {method for method in ANY if there.ask(path, method).status != 405}
    assert allowed == THERE[path]


def test_files_among_the_logs_of_the_node_and_profiles_are_what_is_asked_for(there: Served) -> None:
    assert there.ask("/logs/deep/file").body == "a line of the node\n"
    assert '<a href="file">file</a>' in there.ask("/logs/deep/").body
    assert there.ask("/logs/deep").status == 301
    assert there.ask("/logs/none").status == 404
    assert "MainThread:\n" in there.ask("/debug/pprof/goroutine").body
    assert there.ask("/debug/pprof/none").status == 404


@pytest.mark.parametrize("path", NOT_THERE)
def test_an_unknown_path_is_404(there: Served, path: str) -> None:
    assert there.ask(path).status == 404


@pytest.mark.parametrize("path", ["/pods/../exec/a/b/c", "/containerLogs/%2e%2e/%2e%2e/etc", "/a//b"])
def test_paths_that_go_up_are_refused_before_anybody_is_asked(there: Served, path: str) -> None:
    assert ask(there.port, path, "GET", there.nobody).status == 400


def test_upgrades_are_refused_as_requests_are(there: Served) -> None:
    target = "/exec/default/web-n/main?command=ls&output=1"
    assert there.upgrade(target, there.nobody).status == 401
    assert there.upgrade(target, there.stranger).status == 403
    assert there.upgrade("/run/default/web-n/main?cmd=ls", there.admin).status == 400
    assert there.upgrade("/exec/default/none/main?command=ls&output=1", there.admin).status == 404
    assert there.upgrade("/exec/default/web-n/none?command=ls&output=1", there.admin).status == 404
    assert there.upgrade("/exec/default/web-n/main?command=ls", there.admin).status == 400
    assert there.upgrade("/exec/default/web-n/main?output=1", there.admin).status == 400
    assert there.upgrade("/portForward/default/web-n?port=x", there.admin).status == 400
    refused = there.upgrade(target, there.admin)
    assert (refused.status, refused.body) == (501, "this container runtime serves no sessions")
    assert there.ask(target, "POST").body == "Upgrade request required"


def test_a_token_lets_in_whom_the_api_server_knows(there: Served) -> None:
    answer = ask(there.port, "/pods", "GET", there.nobody, Authorization="Bearer admin-token")
    assert answer.status == 200


# (spec 11.2.2)
def test_pods_are_told_with_their_status(there: Served) -> None:
    answer = there.ask("/pods")
    listed = json.loads(answer.body)
    assert listed["kind"] == "PodList"
    (pod,) = listed["items"]
    assert pod["metadata"]["name"] == "web-n"
    assert pod["status"]["phase"] == "Running"
    assert "application/json" in answer.head


# (spec 11.2.2)
def test_running_pods_are_what_the_runtime_runs(there: Served) -> None:
    (pod,) = json.loads(there.ask("/runningpods/").body)["items"]
    assert pod["metadata"]["name"] == "web-n"
    assert [each["name"] for each in pod["spec"]["containers"]] == ["main"]


# (spec 11.2.7)
def test_the_configuration_is_the_one_in_effect(there: Served) -> None:
    document = json.loads(there.ask("/configz").body)["kubeletconfig"]
    assert document["kind"] == "KubeletConfiguration"
    assert document["authentication"]["x509"]["clientCAFile"].endswith("ca.crt")


def test_pages_about_the_agent(there: Served) -> None:
    assert "Binary version: 1.36.2+actorlet" in there.ask("/statusz").body
    assert "root-dir=/r" in there.ask("/flagz").body


def test_pages_about_the_agent_are_objects_for_programs_that_name_them(there: Served) -> None:
    answer = there.ask("/statusz", Accept="application/json;v=v1beta1;g=config.k8s.io;as=Statusz")
    status = json.loads(answer.body)
    assert (status["apiVersion"], status["kind"], status["metadata"]) == (
        "config.k8s.io/v1beta1",
        "Statusz",
        {"name": "kubelet"},
    )
    assert status["binaryVersion"].startswith("1.36.2")
    assert {"/healthz", "/metrics", "/statusz"} <= set(status["paths"])
    flags = json.loads(there.ask("/flagz", Accept="application/json;v=v1beta1;g=config.k8s.io;as=Flagz").body)
    assert (flags["kind"], flags["flags"]) == ("Flagz", {"root-dir": "/r"})
    assert there.ask("/flagz", Accept="application/json").status == 406


# (spec 11.2.1)
def test_health_has_checks(there: Served) -> None:
    assert there.ask("/healthz").body == "ok"
    assert there.ask("/healthz?verbose").body == "".join(
        [*(f"[+]{check} ok\n" for check in ("ping", "log", "syncloop", "actors")), "healthz check passed\n"]
    )
    assert there.ask("/healthz?verbose&exclude=ping&exclude=log&exclude=syncloop").body == (
        "[+]actors ok\nhealthz check passed\n"
    )
    assert there.ask("/readyz/actors").body == "ok"
    assert there.ask("/healthz/none").status == 404


# (spec 11.1.1)
def test_the_other_ports_ask_nobody_and_show_little(there: Served) -> None:
    read_only, health = there.server.ports.read_only, there.server.ports.health
    assert read_only is not None
    assert health is not None
    assert ask(read_only, "/pods").status == ask(read_only, "/healthz").status == 200
    assert ask(read_only, "/configz").status == 405
    assert ask(read_only, "/run/default/web-n/main?cmd=ls", "POST").status == 405
    assert ask(health, "/healthz").body == ask(health, "/livez").body == ask(health, "/readyz").body == "ok"
    assert ask(health, "/pods").status == 404


# (spec 11.2.4)
def test_a_command_is_run_and_its_output_given(there: Served) -> None:
    assert there.ask("/run/default/web-n/main?cmd=true", "POST").status == 200
    assert there.ask("/run/default/web-n/main", "POST").status == 400


LOG = "/containerLogs/default/web-n/main"


# (spec 11.2.5)
def test_logs_are_read_from_the_disk_of_the_node(there: Served) -> None:
    path = next(iter(there.node.containers())).config.log_path
    (directory,) = there.node.host.pod_logs.list_pods()
    there.node.host.tree.open(f"{directory}/{path}").write(b"2026-01-01T00:00:00.5Z stdout F hello\n" * 3)
    assert "text/plain" in there.ask(LOG).head
    assert there.ask(f"{LOG}?tailLines=1&timestamps=true").body.endswith(
        "2026-01-01T00:00:00.500000000Z hello\n\r\n0\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/containerLogs/default/none/main", 404),
        ("/containerLogs/default/web-n/none", 404),
        (f"{LOG}?previous=true", 400),
        (f"{LOG}?sinceSeconds=maybe", 400),
        (f"{LOG}?tailLines=many", 400),
        (f"{LOG}?sinceTime=yesterday", 400),
        (f"{LOG}?stream=Sideways", 400),
        (f"{LOG}?tailLines=-1", 422),
        (f"{LOG}?limitBytes=0", 422),
        (f"{LOG}?sinceSeconds=0", 422),
        (f"{LOG}?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", 422),
        (f"{LOG}?tailLines=1&stream=Stderr", 422),
    ],
)
# (spec 11.2.5)
def test_logs_that_cannot_be_shown(there: Served, target: str, status: int) -> None:
    assert there.ask(target).status == status


# (spec 2.3.5)
def test_late_actors_are_named_and_debugging_can_be_off(tmp_path: Path) -> None:
    with served(tmp_path, enable_debugging_handlers=False) as found:
        free = {"/healthz", "/healthz/ping", "/livez", "/readyz", "/pods", "/manifests", "/manifests/default/web"}
        for path in sorted(set(THERE) - free):
            answer = found.ask(path)
            assert (answer.status, answer.body) == (405, "Debug endpoints are disabled.")
        assert found.server.ports.health is not None


class Late(NodeWindow):
    def late(self) -> tuple[str, ...]:
        return ("/node/pleg is late by 90 s (Relist)",)


# (spec 2.3.5)
def test_a_late_actor_is_named_where_health_is_asked(tmp_path: Path) -> None:
    with ExitStack() as after:
        dispatcher = PoolDispatcher()
        after.callback(dispatcher.close)
        node = SimulatedNode(dispatcher, name="n")
        loop = after.enter_context(closing(LoopThread("late")))
        api = InProcessApi(dispatcher, ApiServer(dispatcher, Options(seed=1)))
        serving = Serving("n", KubeletConfiguration(), str(tmp_path), ("n",), {})
        arguments = (Late(), node.cri, node.host.log_files, ApiLines(api, api, api), loop)
        server = node_server(serving, Ports(None, 0, 0), *arguments)
        server.start()
        after.callback(server.close)
        assert server.ports.health is not None
        assert server.ports.read_only is not None
        ready = ask(server.ports.health, "/readyz")
        assert ready.status == 500
        assert "[-]actors failed: /node/pleg is late by 90 s (Relist)" in ready.body
        assert ask(server.ports.health, "/healthz").status == 200, "it answers"
        assert ask(server.ports.read_only, "/healthz").status == 500
        taken = node_server(serving, Ports(None, None, server.ports.health), *arguments)
        with pytest.raises(PortTakenError, match=r"\$\.healthzPort.*in use"):
            taken.start()


# (spec 11.1.1)
def test_ports_are_those_of_the_configuration() -> None:
    assert ports_of(KubeletConfiguration()) == Ports(10250, None, 10248)
    assert ports_of(KubeletConfiguration(read_only_port=10255, healthz_port=0)) == Ports(10250, 10255, None)
    assert ports_of(KubeletConfiguration(enable_server=False, read_only_port=10255)) == Ports(None, None, 10248)
