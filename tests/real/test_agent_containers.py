"""What a container on containerd finds around itself, and what others find of it.

Environment, volumes, resources, security, network, names, labels, logs (spec 3.8, 3.9).
"""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path
from typing import Any

from runtime.cri.identity import CONTAINER_NAME, POD_NAME, POD_NAMESPACE, POD_UID, RESTART_COUNT
from tests.ports import free_port
from tests.real.agent import CONTAINER_LOGS, NODE, Agent
from tests.real.images import BUSYBOX
from tests.real.pods import Truth, container, pod
from tests.real.waiting import until


def status_line(truth: Truth, pod_name: str, line: str, name: str = "main") -> str:
    """A line of /proc/1/status in a container."""
    lines = truth.run(truth.running(pod_name, name), "cat", "/proc/1/status").splitlines()
    return next(each.partition(":")[2].strip() for each in lines if each.startswith(f"{line}:"))


def test_environment_command_and_arguments_are_expanded(agent: Agent, truth: Truth) -> None:
    variables: list[dict[str, Any]] = [
        {"name": "GREETING", "value": "hello"},
        {"name": "BOTH", "value": "$(GREETING) world, $(UNKNOWN), $$(GREETING)"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "COLOUR", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['colour']"}}},
        {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
    ]
    script = 'echo "$BOTH"; echo "$POD $IP $NODE $COLOUR $LIMIT"; echo "$0 $1"; pwd; sleep 1000'
    main = {
        "name": "main",
        "image": BUSYBOX,
        "command": ["sh", "-c", script, "$(GREETING)"],
        "args": ["to $(POD)"],
        "env": variables,
        "workingDir": "/work",
        "resources": {"limits": {"memory": "64Mi"}},
    }
    of_image = {"name": "image", "image": "actorlet.test/entrypoint:1", "args": ["from", "the pod"]}
    agent.drop("env.json", pod("env", main, of_image, labels={"colour": "blue"}, terminationGracePeriodSeconds=1))
    agent.start()
    agent.await_running("env")
    agent.await_that(lambda: len(agent.log("env")) == 4 and agent.log("env", "image"), "it has not written")
    said = agent.log("env")
    assert said[0] == "hello world, $(UNKNOWN), $(GREETING)"
    assert said[1] == f"env-{NODE} {agent.status('env').pod_ip} {NODE} blue 64"
    assert said[2:] == [f"hello to env-{NODE}", "/work"]
    assert agent.log("env", "image") == ["hello from the pod"]


def test_volumes_are_shared_between_containers_and_with_the_host(agent: Agent, truth: Truth) -> None:
    host = agent.directory / "host"
    host.mkdir()
    (host / "there").write_text("from the host\n")
    volumes = [
        {"name": "shared", "emptyDir": {}},
        {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Mi"}},
        {"name": "host", "hostPath": {"path": str(host), "type": "Directory"}},
        {"name": "made", "hostPath": {"path": str(agent.directory / "made"), "type": "DirectoryOrCreate"}},
    ]
    first = [
        {"name": "shared", "mountPath": "/shared"},
        {"name": "memory", "mountPath": "/memory"},
        {"name": "host", "mountPath": "/host"},
        {"name": "made", "mountPath": "/made"},
    ]
    second = [{"name": "shared", "mountPath": "/other"}, {"name": "host", "mountPath": "/host", "readOnly": True}]
    containers = [container("writer", volumeMounts=first), container("reader", volumeMounts=second)]
    manifest = agent.drop("vols.json", pod("vols", *containers, volumes=volumes))
    agent.start()
    agent.await_running("vols")
    uid = agent.pod("vols").metadata.uid
    writer, reader = truth.running("vols", "writer"), truth.running("vols", "reader")
    truth.run(writer, "sh", "-c", "echo shared > /shared/file; echo up > /host/up; echo new > /made/new")
    assert truth.run(reader, "cat", "/other/file") == "shared\n"
    assert truth.run(reader, "cat", "/host/there") == "from the host\n"
    assert (host / "up").read_text() == "up\n"
    assert (agent.directory / "made" / "new").read_text() == "new\n"
    assert truth.run(reader, "sh", "-c", "touch /host/x 2>&1 || true").endswith("Read-only file system\n")
    assert "tmpfs" in truth.run(writer, "sh", "-c", "grep ' /memory ' /proc/mounts")
    assert truth.run(writer, "stat", "-c", "%a", "/shared") == "777\n"
    (kept,) = agent.pod_directory(uid).glob("volumes/*/shared/file")
    # An emptyDir outlives its containers, not its pod.
    truth.end(writer)
    until(lambda: any(each.attempt == 1 and each.running for each in truth.lives("vols", "writer")), 20, agent.troubles)
    assert truth.run(truth.running("vols", "writer"), "cat", "/shared/file") == "shared\n"
    manifest.unlink()
    agent.await_that(lambda: not agent.pod_directory(uid).exists(), "the pod's directory stays")
    assert not kept.exists()
    assert str(agent.pod_directory(uid)) not in Path("/proc/self/mountinfo").read_text()
    assert (host / "up").exists()


def test_resources_arrive_in_the_cgroup(agent: Agent, truth: Truth) -> None:
    resources = {"requests": {"cpu": "250m", "memory": "16Mi"}, "limits": {"cpu": "500m", "memory": "32Mi"}}
    agent.drop("res.json", pod("res", container(resources=resources), container("free")))
    agent.start()
    agent.await_running("res")
    assert cgroup(truth, "res", "main") == {"memory": "33554432", "quota": "50000", "period": "100000"}
    assert cgroup(truth, "res", "free")["quota"] in ("-1", "max")
    assert agent.status("res").qos_class == "Burstable"


def cgroup(truth: Truth, pod_name: str, name: str) -> dict[str, str]:
    """Limits of a container, from inside, whichever version this machine has."""
    life = truth.running(pod_name, name)
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        quota, period = truth.run(life, "cat", "/sys/fs/cgroup/cpu.max").split()
        return {"memory": truth.run(life, "cat", "/sys/fs/cgroup/memory.max").strip(), "quota": quota, "period": period}
    files = {
        "memory": "memory/memory.limit_in_bytes",
        "quota": "cpu/cpu.cfs_quota_us",
        "period": "cpu/cpu.cfs_period_us",
    }
    return {key: truth.run(life, "cat", f"/sys/fs/cgroup/{file}").strip() for key, file in files.items()}


def test_the_security_context_holds(agent: Agent, truth: Truth) -> None:
    strict = {
        "runAsUser": 1234,
        "runAsGroup": 55,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    adding = {"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}
    mounts = [{"name": "data", "mountPath": "/data"}]
    agent.drop(
        "secure.json",
        pod(
            "secure",
            container(securityContext=strict, volumeMounts=mounts),
            container("adds", securityContext=adding),
            container("usual"),
            securityContext={"fsGroup": 2222, "supplementalGroups": [3333]},
            volumes=[{"name": "data", "emptyDir": {}}],
        ),
    )
    as_root = container(securityContext={"runAsNonRoot": True})
    agent.drop("refused.json", pod("refused", as_root))
    not_root = container(image="actorlet.test/user-id:1", securityContext={"runAsNonRoot": True})
    agent.drop("allowed.json", pod("allowed", not_root))
    agent.start()
    agent.await_running("secure", "allowed")
    main = truth.running("secure")
    assert truth.run(main, "sh", "-c", "id -u; id -g") == "1234\n55\n"
    assert {"2222", "3333"} <= set(truth.run(main, "id", "-G").split())
    assert "Read-only" in truth.run(main, "sh", "-c", "touch /tmp/x 2>&1 || true")
    truth.run(main, "touch", "/data/mine")
    assert truth.run(main, "stat", "-c", "%g", "/data") == "2222\n"
    assert int(status_line(truth, "secure", "CapBnd"), 16) == 0
    assert status_line(truth, "secure", "NoNewPrivs") == "1"
    assert int(status_line(truth, "secure", "CapBnd", "adds"), 16) == 1 << 10
    assert int(status_line(truth, "secure", "CapBnd", "usual"), 16) > 1 << 10
    assert status_line(truth, "secure", "NoNewPrivs", "usual") == "0"

    def refused() -> bool:
        status = agent.container("refused")
        waiting = status.state.waiting if status is not None and status.state is not None else None
        return waiting is not None and waiting.reason == "CreateContainerConfigError"

    agent.await_that(refused, "root is not refused")
    assert truth.lives("refused") == ()
    assert truth.run(truth.running("allowed"), "id", "-u") == "1000\n"


def test_a_pod_has_a_name_and_a_network_of_its_own_or_those_of_the_host(agent: Agent, truth: Truth) -> None:
    port, own = free_port(), free_port()
    serving = container(
        script=f"mkdir /tmp/www; echo it is me > /tmp/www/index.html; httpd -f -p {own} -h /tmp/www",
        ports=[{"containerPort": own, "hostPort": port}],
    )
    agent.drop("served.json", pod("served", serving, terminationGracePeriodSeconds=1))
    agent.drop("host.json", pod("host", hostNetwork=True))
    agent.drop("named.json", pod("named", container(), container("two"), hostname="other", shareProcessNamespace=True))
    agent.start()
    agent.await_running("served", "host", "named")
    served = agent.status("served").pod_ip
    assert (served or "").startswith("10.213.")
    url = f"http://{served}:{own}/index.html"
    said: list[bytes] = []

    def answers() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                said.append(answer.read())
        except OSError:
            return False
        return True

    agent.await_that(answers, "nobody answers at the pod's address", 3)
    assert said == [b"it is me\n"]
    assert truth.run(truth.running("served"), "hostname") == f"served-{NODE}\n"
    assert truth.run(truth.running("named"), "hostname") == "other\n"
    assert agent.status("host").pod_ip == agent.status("host").host_ip
    own_namespace = os.readlink("/proc/self/ns/net")
    assert truth.run(truth.running("host"), "readlink", "/proc/1/ns/net").strip() == own_namespace
    two = truth.run(truth.running("named", "two"), "readlink", "/proc/self/ns/pid")
    assert truth.run(truth.running("named"), "readlink", "/proc/self/ns/pid") == two


def test_labels_annotations_and_logs_lead_to_the_pod(agent: Agent, truth: Truth) -> None:
    manifest = pod("known", container(script="echo out; echo err >&2; sleep 1000"), labels={"app": "known"})
    manifest["metadata"]["annotations"] = {"example.test/note": "kept"}
    manifest["spec"]["terminationGracePeriodSeconds"] = 1
    agent.drop("known.json", manifest)
    agent.start()
    agent.await_running("known")
    uid = agent.pod("known").metadata.uid
    three = {POD_NAME: f"known-{NODE}", POD_NAMESPACE: "default", POD_UID: uid}
    (sandbox,) = truth.sandboxes("known")
    assert sandbox.labels.items() >= {**three, "app": "known"}.items()
    assert sandbox.annotations["example.test/note"] == "kept"
    assert sandbox.annotations["kubernetes.io/config.source"] == "file"
    assert sandbox.annotations["kubernetes.io/config.hash"] == uid
    life = truth.life("known")
    assert life.status.labels.items() >= {**three, CONTAINER_NAME: "main"}.items()
    assert "app" not in life.status.labels
    assert life.status.annotations[RESTART_COUNT] == "0"
    log = agent.pod_logs / f"default_known-{NODE}_{uid}" / "main" / "0.log"
    assert life.status.log_path == str(log)
    until(lambda: len(log.read_text().splitlines()) == 2, 10, "it has not written")
    assert sorted(line.split(" ", 3)[1:] for line in log.read_text().splitlines()) == [
        ["stderr", "F", "err"],
        ["stdout", "F", "out"],
    ]
    link = CONTAINER_LOGS / f"known-{NODE}_default_main-{life.id}.log"
    until(link.is_symlink, 10, f"there is no {link}")
    assert link.read_text() == log.read_text()
    status = agent.container("known")
    assert status is not None
    assert status.container_id == f"containerd://{life.id}"
    assert status.image == BUSYBOX
