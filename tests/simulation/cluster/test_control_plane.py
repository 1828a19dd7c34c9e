"""Simulated nodes on a real control plane: kube-apiserver and etcd, controllers and a scheduler.

`ACTORLET_TEST_CONTROL_PLANE` names a folder with all four. Without it, only what needs none is tried.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.stream import stream

from actorlet.testing import Cluster, ClusterError, cluster
from config.credentials.kubeconfig import decode_kubeconfig
from runtime.io.event_loop import LoopThread
from simulation.cluster.new_cluster import new_cluster
from simulation.cluster.orders import Begin, OrderError

FOLDER = Path(os.environ.get("ACTORLET_TEST_CONTROL_PLANE", ""))
SERVER = ("etcd", "kube-apiserver")
WAIT = 120
DRIVER = "gpu.vendor.example"
needs_it = pytest.mark.skipif(
    not (FOLDER / "kube-scheduler").is_file(), reason="ACTORLET_TEST_CONTROL_PLANE names no folder with a control plane"
)


def folder(path: Path, text: str) -> Path:
    for name in SERVER:
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    return path


# --- without one ------------------------------------------------------------------------------------------------------


def test_a_folder_without_the_programs_is_refused_in_one_sentence(tmp_path: Path):
    with pytest.raises(ClusterError) as refusal:
        cluster(control_plane=tmp_path)
    assert str(refusal.value).startswith(f"{tmp_path} has no etcd and no kube-apiserver; ")
    assert "KUBEBUILDER_ASSETS" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("more", [{"time": "stepped"}, {"time": "x60"}, {"start": "2030-06-01T12:00:00Z"}])
def test_only_real_time_is_taken(tmp_path: Path, more: dict[str, str]):
    begin = Begin(
        **{"time": "real", "start": "", **more},
        nodes=1,
        seed=1,
        scheduler=True,
        cpus=4,
        memory="16Gi",
        pods_per_node=110,
        rbac=False,
        tls=True,
        control_plane=str(folder(tmp_path, "#!/bin/sh\n")),
    )
    with pytest.raises(OrderError, match="a real control plane knows real time only"):
        new_cluster(begin, LoopThread(), str(tmp_path / "kubeconfig"), str(tmp_path))


def test_the_last_words_of_a_program_that_ends_at_once_are_told(tmp_path: Path):
    with pytest.raises(ClusterError) as refusal:
        cluster(control_plane=folder(tmp_path, '#!/bin/sh\necho "no such option: $1" >&2\nexit 2\n'))
    assert "has ended with exit status 2; its last words:\nno such option: --" in str(refusal.value)


def test_a_port_that_another_program_took_is_not_taken_again(tmp_path: Path):
    noted = tmp_path / "noted"
    text = f"#!/bin/sh\necho $* >> {noted}\necho 'listen tcp: bind: address already in use' >&2\nexit 1\n"
    with pytest.raises(ClusterError, match="address already in use"):
        cluster(control_plane=folder(tmp_path, text))
    ports = {word for line in noted.read_text().splitlines() for word in line.split() if "--listen-client" in word}
    assert len(ports) == 3


def test_the_command_takes_a_folder_too(tmp_path: Path):
    command = [sys.executable, "-m", "actorlet", "simulate-cluster", "--control-plane", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=False)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"actorlet simulate-cluster: {tmp_path} has no etcd and no kube-apiserver; ")
    assert ran.stderr.count("\n") == 1


def test_drivers_for_claims_without_a_scheduler_that_allocates_are_refused(tmp_path: Path):
    with pytest.raises(ClusterError, match="dra_drivers need a kube-scheduler and a kube-controller-manager in"):
        cluster(control_plane=folder(tmp_path, "#!/bin/sh\n"), dra_drivers="gpu.vendor.example=1")


# --- with a real one --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Iterator[Cluster]:
    with cluster(nodes=3, control_plane=FOLDER) as found:
        yield found


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """What envtest has, and no more."""
    path = tmp_path_factory.mktemp("envtest")
    for name in SERVER:
        (path / name).symlink_to(FOLDER / name)
    with cluster(nodes=2, control_plane=path) as found:
        yield found


def deployment(name: str, image: str = "registry.example/app:1") -> dict[str, Any]:
    """Three pods that leave a dead node at once."""
    leaves = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
    keys = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    container = {"name": "app", "image": image}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "tolerations": [{"key": key, **leaves} for key in keys]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def clients(found: Cluster) -> tuple[Any, Any]:
    """Of its admin: of the core group, and of `apps`."""
    api = found.kubernetes()
    return client.CoreV1Api(api), client.AppsV1Api(api)


def ready(core: Any, name: str) -> list[Any]:
    """Pods that are Ready and stay."""
    pods = core.list_namespaced_pod("default", label_selector=f"app={name}").items
    return [pod for pod in pods if not pod.metadata.deletion_timestamp and is_ready(pod)]


def is_ready(found: Any) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in found.status.conditions or ())


@needs_it
def test_a_deployment_rolls_over_and_its_pods_come_back_when_a_node_dies(real: Cluster):
    core, apps = clients(real)
    apps.create_namespaced_deployment("default", deployment("web"))
    real.until(lambda: len(ready(core, "web")) == 3)
    assert {pod.spec.node_name for pod in ready(core, "web")} == set(real.nodes), "the scheduler spreads them"

    apps.patch_namespaced_deployment("web", "default", deployment("web", "registry.example/app:2"))

    def has_rolled_over() -> bool:
        status = apps.read_namespaced_deployment("web", "default").status
        return bool(status.observed_generation == 2 and status.updated_replicas == status.replicas == 3)

    real.until(lambda: has_rolled_over() and len(ready(core, "web")) == 3)
    pods = ready(core, "web")
    assert {pod.spec.containers[0].image for pod in pods} == {"registry.example/app:2"}
    assert len(apps.list_namespaced_replica_set("default", label_selector="app=web").items) == 2

    victim = pods[0].spec.node_name
    real.kill_node(victim)
    others = set(real.nodes) - {victim}
    real.until(lambda: {pod.spec.node_name for pod in ready(core, "web")} == others and len(ready(core, "web")) == 3)
    assert not is_ready(core.read_node(victim))

    real.start_node(victim)
    real.until(lambda: is_ready(core.read_node(victim)))
    real.until(lambda: len(core.list_namespaced_pod("default", label_selector="app=web").items) == 3)


@needs_it
def test_agents_are_nodes_to_it_and_may_no_more_than_nodes(real: Cluster):
    """NodeRestriction lets a node change itself only."""
    other: Any = client.CoreV1Api(real.kubernetes("system:node:node-0", ["system:nodes"]))
    assert other.read_node("node-0").status.node_info.kubelet_version
    with pytest.raises(client.ApiException, match="is not allowed to modify node"):
        other.patch_node("node-1", {"metadata": {"labels": {"a": "b"}}})


@needs_it
def test_added_nodes_users_manifests_and_accounts(real: Cluster, tmp_path: Path):
    (name,) = real.add_nodes()
    core, _ = clients(real)
    real.until(lambda: any(node.metadata.name == name and is_ready(node) for node in core.list_node().items))
    definition = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "sites", "kind": "Site"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    }
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    objects = [
        {"apiVersion": "example.com/v1", "kind": "Site", "metadata": {"name": "shop"}},
        {**kind, "metadata": {"name": "sites.example.com"}, "spec": definition},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "op"}},
    ]
    (tmp_path / "all.yaml").write_text("\n---\n".join(map(json.dumps, objects)))
    assert real.apply(tmp_path)[1:] == ("site.example.com/shop", "serviceaccount/op")
    account = "system:serviceaccount:default:op"
    reviews: Any = client.AuthenticationV1Api(real.kubernetes(account))
    who = reviews.create_self_subject_review({})
    assert who.status.user_info.username == account
    with pytest.raises(client.ApiException, match=r"alice.* cannot list resource"):
        client.CoreV1Api(real.kubernetes("alice", ["devs"])).list_namespaced_pod("default")


@needs_it
@pytest.mark.parametrize(
    ("order", "told"),
    [
        (lambda found: found.step("1s"), "passes by itself; use `until`"),
        (lambda found: found.reset(), "is not reset; delete what you have made"),
        (lambda found: found.fail_requests("Conflict"), "without the kit; take the embedded API server"),
        (lambda found: found.serve_webhook("shop/hooks", "https://127.0.0.1:9"), "calls webhooks at their own `url`"),
    ],
)
def test_what_it_cannot_do_is_refused_with_another_way(bare: Cluster, order: Any, told: str):
    with pytest.raises(ClusterError, match=told):
        order(bare)


@needs_it
def test_with_the_programs_of_envtest_alone_the_kit_schedules_and_evicts(bare: Cluster):
    core, _ = clients(bare)
    web = bare.load("web", 4)
    bare.until(lambda: web.ready == 4)
    nodes = [pod.spec.node_name for pod in core.list_namespaced_pod("default").items]
    assert sorted(nodes) == ["node-0", "node-0", "node-1", "node-1"]
    assert bare.explain("web-0").startswith("default/web-0 on node-")
    bare.exit("web-1", 3)
    bare.until(lambda: core.read_namespaced_pod("web-1", "default").status.container_statuses[0].restart_count == 1)
    web.scale(1)
    bare.until(lambda: len(core.list_namespaced_pod("default").items) == 1)


@needs_it
def test_logs_and_commands_reach_the_agents_until_the_network_is_cut(bare: Cluster):
    core, _ = clients(bare)
    spec = {"containers": [{"name": "app", "image": "registry.example/app:1"}], "nodeName": "node-1"}
    core.create_namespaced_pod("default", {"metadata": {"name": "talks"}, "spec": spec})
    bare.until(lambda: is_ready(core.read_namespaced_pod("talks", "default")))
    bare.say("talks", "listening on 8080")
    assert core.read_namespaced_pod_log("talks", "default") == "listening on 8080\n"
    bare.behave("talks", exec_output="up to date")
    run = core.connect_get_namespaced_pod_exec
    assert stream(run, "talks", "default", command=["status"], stdout=True, stderr=True) == "up to date"
    kubectl = shutil.which("kubectl", path=os.path.dirname(sys.executable))
    if kubectl is not None:
        words = [kubectl, f"--kubeconfig={bare.kubeconfig}", "exec", "talks", "--", "status"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=WAIT, check=True)
        assert ran.stdout == "up to date"
    with pytest.raises(client.ApiException, match=r"is waiting to start|not found|is not valid"):
        core.read_namespaced_pod_log("talks", "default", container="other")
    bare.cut_network("node-1", "30s")
    with pytest.raises(client.ApiException, match="node-1"):
        core.read_namespaced_pod_log("talks", "default")
    bare.heal()
    assert core.read_namespaced_pod_log("talks", "default")


@needs_it
def test_faults_strike_between_agents_and_the_real_server(bare: Cluster):
    core, _ = clients(bare)
    bare.fault("api-outage", lasts="1h")
    core.create_namespaced_pod("default", deployment("late")["spec"]["template"] | {"metadata": {"name": "late"}})
    bare.until(lambda: core.read_namespaced_pod("late", "default").spec.node_name)
    assert core.read_namespaced_pod("late", "default").status.phase == "Pending"
    bare.heal()
    bare.fault("api-calls", fail=0.2)
    bare.until(lambda: is_ready(core.read_namespaced_pod("late", "default")))
    bare.heal()


@needs_it
def test_nothing_is_left_of_a_cluster_that_is_killed():
    found = cluster(control_plane=FOLDER)
    directory = os.path.dirname(found.kubeconfig)
    access = decode_kubeconfig(Path(found.kubeconfig).read_bytes(), directory)
    assert access.cluster.server == found.url
    watched = [os.pidfd_open(pid) for pid in programs_in(directory)]
    assert len(watched) == 4
    os.kill(found.pid, signal.SIGKILL)
    found.close()
    for descriptor in watched:
        assert select.select([descriptor], [], [], WAIT)[0]
        os.close(descriptor)
    shutil.rmtree(directory)


def programs_in(directory: str) -> list[int]:
    """Processes whose command line names the directory, apart from the one that started them."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_bytes()
        except OSError:
            continue
        if directory.encode() in words:
            found.append(int(each.parent.name))
    return found


@needs_it
def test_the_scheduler_allocates_devices_of_simulated_drivers_for_claims_from_a_template():
    with cluster(nodes=1, control_plane=FOLDER, dra_drivers={DRIVER: 2}) as found:
        core: Any = client.CoreV1Api(found.kubernetes())
        custom: Any = client.CustomObjectsApi(found.kubernetes())
        claims = ("resource.k8s.io", "v1", "default")
        request = {"name": "gpu", "exactly": {"deviceClassName": DRIVER}}
        template = {"metadata": {"name": "gpu"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
        template |= {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
        custom.create_namespaced_custom_object(*claims, "resourceclaimtemplates", template)
        for number in range(3):
            app = {"name": "app", "image": "app:1", "resources": {"claims": [{"name": "gpu"}]}}
            entry = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
            spec = {"containers": [app], "resourceClaims": [entry], "terminationGracePeriodSeconds": 1}
            core.create_namespaced_pod("default", {"metadata": {"name": f"p{number}"}, "spec": spec})

        def phases() -> list[str]:
            return sorted(each.status.phase for each in core.list_namespaced_pod("default").items)

        def words() -> str:
            pods = core.list_namespaced_pod("default").items
            return " ".join(each.message or "" for pod in pods for each in pod.status.conditions or ())

        found.until(lambda: phases() == ["Pending", "Running", "Running"])
        found.until(lambda: "cannot allocate all claims" in words())
        listed = custom.list_namespaced_custom_object(*claims, "resourceclaims")["items"]
        given = [
            each["status"]["allocation"]["devices"]["results"] for each in listed if "allocation" in each["status"]
        ]
        assert sorted(one["device"] for results in given for one in results) == ["device-0", "device-1"]
        first = next(pod for pod in core.list_namespaced_pod("default").items if pod.status.phase == "Running")
        core.delete_namespaced_pod(first.metadata.name, "default")
        found.until(lambda: phases() == ["Running", "Running"])

        def slices_are_deleted(selector: str) -> int:
            """The status of what an agent asks when it begins; the Node authorizer looks at the selector."""
            node = client.ResourceV1Api(found.kubernetes("system:node:node-0", ["system:nodes"]))
            try:
                node.delete_collection_resource_slice(field_selector=selector)
            except client.ApiException as refusal:
                return int(refusal.status)
            return 200

        def slices() -> list[str]:
            listed = custom.list_cluster_custom_object("resource.k8s.io", "v1", "resourceslices")["items"]
            return [each["metadata"]["uid"] for each in listed]

        before = slices()
        assert slices_are_deleted(f"spec.nodeName=node-0,spec.driver!={DRIVER}") == 200
        assert slices() == before
        assert slices_are_deleted(f"spec.driver!={DRIVER}") == 403
        assert slices_are_deleted(f"spec.nodeName=node-1,spec.driver!={DRIVER}") == 403
