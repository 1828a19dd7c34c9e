"""What saves a test work: manifests, clients, shared clusters, scripts of containers, and reports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import kubernetes
import lightkube
import pytest
from kubernetes.stream import stream
from lightkube.resources.core_v1 import Pod as LightkubePod

from actorlet.testing import Cluster, ClusterError, cluster
from tests.simulation.cluster.plain_client import PlainClient

PLUGIN = "actorlet.pytest_plugin"
SITE = """
apiVersion: example.com/v1
kind: Site
metadata: {name: shop}
spec: {size: 2}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: sites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: sites, kind: Site}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object,
     properties: {size: {type: integer}}}}}}}
"""
SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: team}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: nginx}]}
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[Cluster]:
    with cluster(nodes=2) as found:
        yield found


def test_a_folder_is_applied_with_what_others_need_first(shared: Cluster, api: PlainClient, tmp_path: Path) -> None:
    (tmp_path / "a-site.yaml").write_text(SITE)
    (tmp_path / "b.yml").write_text(SETTINGS)
    (tmp_path / "notes.txt").write_text("no manifest")
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / "site.yaml").write_text(DEFINITION)
    (tmp_path / "team.json").write_text('{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}')
    applied = shared.apply(tmp_path)
    assert set(applied[:2]) == {"customresourcedefinition.apiextensions.k8s.io/sites.example.com", "namespace/team"}
    assert applied[2:] == ("site.example.com/shop", "configmap/settings", "deployment.apps/web")
    assert api.ask("GET", "/apis/example.com/v1/namespaces/default/sites/shop")["spec"] == {"size": 2}
    assert api.ask("GET", "/apis/apps/v1/namespaces/team/deployments/web")["spec"]["replicas"] == 1
    (tmp_path / "b.yml").write_text(SETTINGS.replace("a: b", "a: c"))
    assert shared.apply(tmp_path / "b.yml", namespace="default") == ("configmap/settings", "deployment.apps/web")
    assert api.ask("GET", "/api/v1/namespaces/default/configmaps/settings")["data"] == {"a": "c"}
    shared.reset()
    assert api.ask("GET", "/api/v1/namespaces/default/configmaps")["items"][0]["metadata"]["name"] == "kube-root-ca.crt"
    assert "team" not in [one["metadata"]["name"] for one in api.ask("GET", "/api/v1/namespaces")["items"]]


def test_all_faults_of_manifests_are_reported_at_once(shared: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SITE)
    (tmp_path / "b.yaml").write_text(SETTINGS.replace("team", "nowhere").replace("\ndata:", "\ndate:"))
    with pytest.raises(ClusterError) as refused:
        shared.apply(tmp_path)
    told = str(refused.value)
    assert 'a.yaml:2: no matches for kind "Site" in version "example.com/v1"' in told
    assert ".date: field not declared in schema" in told
    assert 'namespaces "nowhere" not found' in told
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.yaml").write_text("# nothing yet\n")
    reasons = {
        "none.yaml": "there is no file or folder",
        "empty": "has no file that ends in .yaml",
        "empty.yaml": "has no object",
    }
    for path, why in reasons.items():
        with pytest.raises(ClusterError, match=why):
            shared.apply(tmp_path / path)
    (tmp_path / "a.yaml").write_text("a: [")
    with pytest.raises(ClusterError, match=r"a\.yaml:\d+: "):
        shared.apply(tmp_path / "a.yaml")


def test_a_pod_is_explained(shared: Cluster, api: PlainClient) -> None:
    shared.behave("pull", fail="PullImage=unauthorized")
    api.create_pod("pull")
    api.create_pod("big", container={"resources": {"requests": {"cpu": "100"}}})
    api.create_pod("good")
    shared.until(lambda: api.is_ready("good"))
    shared.step("10s")
    assert shared.explain("pull").startswith("default/pull on node-")
    assert "pull access denied" in shared.explain("pull")
    assert "Warning Failed" in shared.explain("pull")
    assert "Insufficient cpu" in shared.explain("big")
    assert "Running" in shared.explain("good").splitlines()[0]
    assert sorted(line.split()[0].rstrip(":") for line in shared.troubles()) == ["default/big", "default/pull"]
    with pytest.raises(ClusterError, match=r"there is no pod default/goood; did you mean good\?"):
        shared.explain("goood")


def test_reset_returns_a_cluster_to_its_first_state(shared: Cluster, api: PlainClient) -> None:
    shared.behave("*", ignore_stop_signal=True)
    web = shared.load("web", 3)
    shared.until(lambda: web.ready == 3)
    shared.kill_node("node-1")
    shared.fault("api-calls", fail=1.0)
    stuck = {"metadata": {"name": "stuck", "finalizers": ["example.com/never"]}}
    api.ask("POST", "/api/v1/namespaces/default/configmaps", stuck)
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "mine"}})
    shared.reset()
    assert api.pods() == {}
    assert api.node_is_ready("node-1") == "True"
    names = {one["metadata"]["name"] for one in api.ask("GET", "/api/v1/namespaces")["items"]}
    assert names == {"default", "kube-system", "kube-public", "kube-node-lease"}
    assert len(api.ask("GET", "/api/v1/namespaces/default/configmaps")["items"]) == 1
    again = shared.load("web", 2)
    shared.until(lambda: again.ready == 2)
    shared.reset()


def test_logs_and_commands_follow_a_script(shared: Cluster, api: PlainClient) -> None:
    commands = {"pg_isready*": "accepting connections", "migrate up": [3, "locked"]}
    shared.behave(
        "db", exec_commands=commands, exec_output="done", output="starting", output_at="5s listening\n60s bye"
    )
    api.create_pod("db")
    shared.until(lambda: api.is_ready("db"))
    shared.step("10s")
    core = kubernetes.client.CoreV1Api(shared.kubernetes())
    assert core.read_namespaced_pod_log("db", "default") == "starting\nlistening\n"

    def run(*words: str) -> tuple[str, int]:
        call = core.connect_get_namespaced_pod_exec
        session = stream(call, "db", "default", command=list(words), stdout=True, stderr=True, _preload_content=False)
        session.run_forever(timeout=120)
        return session.read_stdout(), session.returncode

    assert run("pg_isready", "-q") == ("accepting connections", 0)
    assert run("migrate", "up") == ("locked", 3)
    assert run("ls") == ("done", 0)
    with pytest.raises(ClusterError, match=r"exec-commands.*is not an exit code"):
        shared.behave("db", exec_commands={"ls": [300, ""]})
    shared.reset()


def test_clients_are_ready_where_their_package_is(shared: Cluster, api: PlainClient) -> None:
    api.create_pod("seen")
    client = shared.lightkube()
    assert isinstance(client, lightkube.Client)
    seen = client.get(LightkubePod, "seen", namespace="default").metadata
    assert seen is not None
    assert seen.name == "seen"
    shared.reset()


MANY_THREADS = """
import sys, threading
from lightkube.core.decoders import decode_list, decode_object
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Node, Pod
from actorlet._handles import learn_lightkube

learn_lightkube()
sys.setswitchinterval(1e-6)
together = threading.Barrier(8)

def decode():
    together.wait()
    for kind in (Pod, Deployment, Node):
        decode_list(b'{"items": [{"metadata": {"name": "a"}}]}', kind)
        decode_object(b"{}", kind)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_that_share_a_ready_lightkube_client_do_not_crash_python() -> None:
    ended = subprocess.run([sys.executable, "-c", MANY_THREADS], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended


def test_a_client_that_is_not_installed_is_named(shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr("actorlet._handles.import_module", missing)
    with pytest.raises(ClusterError, match="the package lightkube is not installed here: pip install lightkube"):
        shared.lightkube()


TESTS = """
import pytest

@pytest.fixture(scope="session")
def simulated_cluster_options():
    return {"nodes": 2}

def test_one(shared_simulated_cluster):
    assert len(shared_simulated_cluster.nodes) == 2
    shared_simulated_cluster.behave("web-*", fail="PullImage=unauthorized", output="\\x07")
    web = shared_simulated_cluster.load("web", 2)
    shared_simulated_cluster.until(lambda: web.ready == 2, within="20s")

def test_two(shared_simulated_cluster, simulated_cluster_of_session):
    assert shared_simulated_cluster is simulated_cluster_of_session
    assert shared_simulated_cluster.troubles() == ()

def test_three(simulated_cluster_of_module):
    assert len(simulated_cluster_of_module.nodes) == 2
"""


def test_the_report_of_a_failure_says_which_pods_were_not_running(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=report.xml", "test_it.py"]
    if not any(entry.value == PLUGIN for entry in entry_points(group="pytest11")):
        command += ["-p", PLUGIN]  # this is a tree that is not installed
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "1 failed, 2 passed" in ran.stdout, ran.stdout
    assert ran.stdout.count("Pods of the simulated cluster that are not Running") == 1
    told = "default/web-0 on node-0: ImagePullBackOff: container app: its image "
    assert told in ran.stdout
    report = ElementTree.parse(tmp_path / "report.xml")
    (failure,) = report.iter("failure")
    assert told in (failure.text or "")
    assert "pull access denied" in (failure.text or "")
