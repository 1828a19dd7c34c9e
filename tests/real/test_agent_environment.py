"""What a container on containerd finds in its environment, where `$(VAR)` is replaced, and the reason it waits for when
something is missing (spec 3.7, 3.8, 13).
"""

from __future__ import annotations

import base64
from typing import Any

from config.api_resources import CONFIG_MAPS, SECRETS
from tests.real.agent import NODE, Agent
from tests.real.cluster import Cluster
from tests.real.pods import Truth, Witness, container, pod
from tests.real.waiting import until


def variables(truth: Truth, pod_name: str, name: str = "main") -> dict[str, str]:
    """Of a container's first process."""
    text = truth.run(truth.running(pod_name, name), "sh", "-c", "tr '\\0' '\\1' < /proc/1/environ")
    return dict(each.split("=", 1) for each in text.split("\1") if "=" in each)


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def amount(name: str, resource: str, divisor: str = "0", of: str = "main") -> dict[str, Any]:
    reference = {"containerName": of, "resource": resource, "divisor": divisor}
    return {"name": name, "valueFrom": {"resourceFieldRef": reference}}


def waiting(agent: Agent, pod_name: str, name: str = "main") -> tuple[str, str]:
    """Reason and message."""
    status = agent.container(pod_name, name)
    state = status.state.waiting if status is not None and status.state is not None else None
    return ("", "") if state is None else (state.reason or "", state.message or "")


def test_13_3_what_a_pod_knows_of_itself(agent: Agent, truth: Truth) -> None:
    paths = {
        "NAME": "metadata.name",
        "NAMESPACE": "metadata.namespace",
        "UID_": "metadata.uid",
        "LABEL": "metadata.labels['colour']",
        "NOTE": "metadata.annotations['example.test/note']",
        "NODE": "spec.nodeName",
        "ACCOUNT": "spec.serviceAccountName",
        "HOST_IP": "status.hostIP",
        "HOST_IPS": "status.hostIPs",
        "POD_IP": "status.podIP",
        "POD_IPS": "status.podIPs",
    }
    amounts = [
        amount("CPU_LIMIT", "limits.cpu"),
        amount("CPU_MILLI", "requests.cpu", "1m"),
        amount("MEMORY", "limits.memory", "1Mi"),
        amount("MEMORY_KI", "requests.memory", "1Ki"),
        amount("DISK", "requests.ephemeral-storage", "1Mi"),
        amount("NODE_CPU", "limits.cpu", of="free"),
        amount("NODE_MEMORY", "limits.memory", of="free"),
    ]
    main = container(
        env=[*(field(name, path) for name, path in paths.items()), *amounts],
        resources={
            "requests": {"cpu": "250m", "memory": "16Mi", "ephemeral-storage": "3Mi"},
            "limits": {"cpu": "1500m", "memory": "32Mi"},
        },
    )
    made = pod("self", main, container("free"), labels={"colour": "blue"})
    made["metadata"]["annotations"] = {"example.test/note": "kept = so"}
    agent.drop("self.json", made)
    agent.start()
    agent.await_running("self")
    found, status = variables(truth, "self"), agent.status("self")
    assert {name: found[name] for name in paths} == {
        "NAME": f"self-{NODE}",
        "NAMESPACE": "default",
        "UID_": agent.pod("self").metadata.uid,
        "LABEL": "blue",
        "NOTE": "kept = so",
        "NODE": NODE,
        "ACCOUNT": "",
        "HOST_IP": status.host_ip,
        "HOST_IPS": ",".join(each.ip for each in status.host_ips),
        "POD_IP": status.pod_ip,
        "POD_IPS": ",".join(each.ip for each in status.pod_ips),
    }
    # Whole units, rounded up; what has no limit has the node's.
    assert {each["name"]: found[each["name"]] for each in amounts[:5]} == {
        "CPU_LIMIT": "2",
        "CPU_MILLI": "250",
        "MEMORY": "32",
        "MEMORY_KI": "16384",
        "DISK": "3",
    }
    assert int(found["NODE_CPU"]) >= 1
    assert int(found["NODE_MEMORY"]) > 64 * 2**20


def test_13_4_references_are_replaced_everywhere_they_may_stand(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory)
    probe = {"exec": {"command": ["sh", "-c", "echo probe $(STATIC) '$(NAME)' >> /witness/log"]}}
    hook = {"exec": {"command": ["sh", "-c", "echo hook '$(STATIC)' >> /witness/log"]}}
    main = {
        **container(volumeMounts=[witness.mount]),
        "command": ["sh", "-c", 'echo "$0 $1 $2 $3" >> /witness/log; sleep 1000', "$(STATIC)"],
        "args": ["$(BOTH)", "$(NOBODY)", "$$(STATIC)"],
        "env": [
            {"name": "STATIC", "value": "one"},
            field("NAME", "metadata.name"),
            {"name": "BOTH", "value": "$(STATIC) of $(NAME), $(LATER), $$(STATIC), $(STATIC"},
            {"name": "LATER", "value": "two"},
        ],
        "livenessProbe": {"periodSeconds": 1, **probe},
        "lifecycle": {"postStart": hook},
    }
    agent.drop("refs.json", pod("refs", main, volumes=[witness.volume], terminationGracePeriodSeconds=1))
    agent.start()
    agent.await_running("refs")
    agent.await_that(lambda: len(set(witness.said())) == 3, "not all is said")
    said = {line.split(" ")[0]: line for line in witness.said()}
    both = f"one of refs-{NODE}, $(LATER), $(STATIC), $(STATIC"
    assert said["one"] == f"one {both} $(NOBODY) $(STATIC)"
    # A probe knows the values that the pod's author wrote, and no others; a hook is taken as it stands.
    assert said["probe"] == "probe one "
    assert said["hook"] == "hook $(STATIC)"
    assert variables(truth, "refs")["BOTH"] == both


def test_13_3_variables_from_files_that_another_container_has_written(agent: Agent, truth: Truth) -> None:
    mount = {"name": "files", "mountPath": "/files"}
    text = "# settings\\nGREETING='hello\\nworld'\\n\\nCOLOUR='blue'\\nBARE=nothing\\n"
    writes = container("writes", f'printf "{text}" > /files/env', volumeMounts=[mount])

    def of_file(name: str, key: str, **fields: Any) -> dict[str, Any]:
        reference = {"volumeName": "files", "path": "env", "key": key, **fields}
        return {"name": name, "valueFrom": {"fileKeyRef": reference}}

    good = container(
        env=[
            of_file("GREETING", "GREETING"),
            of_file("C", "COLOUR"),
            of_file("NONE", "NOBODY", optional=True),
            of_file("NO_FILE", "COLOUR", optional=True, path="nowhere"),
            {"name": "OF_C", "value": "$(C)!"},
        ]
    )
    files = [{"name": "files", "emptyDir": {}}]
    agent.drop("good.json", pod("good", good, initContainers=[writes], volumes=files))
    for name, reference in (
        ("key", of_file("A", "NOBODY")),
        ("bare", of_file("A", "BARE")),
        ("file", of_file("A", "COLOUR", path="nowhere")),
    ):
        agent.drop(f"{name}.json", pod(name, container(env=[reference]), initContainers=[writes], volumes=files))
    agent.start()
    agent.await_running("good")
    found = variables(truth, "good")
    assert (found["GREETING"], found["C"], found["OF_C"]) == ("hello\nworld", "blue", "blue!")
    assert not {"NONE", "NO_FILE"} & found.keys()
    for name in ("key", "bare", "file"):
        agent.await_that(lambda: waiting(agent, name)[0] == "CreateContainerConfigError", f"{name} waits for nothing")  # noqa: B023
        assert "$.spec.containers[0].env[0]" in waiting(agent, name)[1], waiting(agent, name)
        assert truth.lives(name, "main") == ()


def test_13_2_variables_of_config_maps_and_secrets_and_those_that_are_missing(
    cluster: Cluster, agent: Agent, truth: Truth
) -> None:
    def of(kind: str, variable: str, name: str, key: str, **fields: Any) -> dict[str, Any]:
        return {"name": variable, "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key, **fields}}}

    cluster.create(CONFIG_MAPS, "settings", data={"A": "map", "B": "map"})
    cluster.create(SECRETS, "hidden", data={"B": base64.b64encode(b"secret").decode()})
    full = container(
        envFrom=[
            {"configMapRef": {"name": "settings"}},
            {"secretRef": {"name": "hidden"}},
            {"prefix": "P_", "configMapRef": {"name": "settings"}},
            {"configMapRef": {"name": "nowhere", "optional": True}},
        ],
        env=[
            {"name": "A", "value": "own"},
            of("configMap", "C", "settings", "B"),
            of("secret", "D", "hidden", "B"),
            of("configMap", "E", "settings", "nobody", optional=True),
            of("secret", "F", "nowhere", "B", optional=True),
            {"name": "G", "value": "$(P_A) $(D)"},
        ],
    )
    cluster.run(pod("full", full))
    cluster.run(pod("no-map", container(env=[of("configMap", "A", "later", "A")])))
    cluster.run(pod("no-key", container(env=[of("secret", "A", "hidden", "nobody")])))
    cluster.run(pod("no-from", container(envFrom=[{"secretRef": {"name": "nowhere"}}])))
    cluster.join()
    cluster.await_phase("Running", "full")
    found = variables(truth, "full")
    expected = {"A": "own", "B": "secret", "P_A": "map", "P_B": "map", "C": "map", "D": "secret", "G": "map secret"}
    assert {name: found.get(name) for name in expected} == expected
    assert not {"E", "F"} & found.keys()
    # The API server itself is always there to be found.
    assert found.keys() >= {"KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_PORT_443_TCP_ADDR"}
    for name, word in (("no-map", "later"), ("no-key", "nobody"), ("no-from", "nowhere")):
        agent.await_that(lambda: waiting(agent, name)[0] == "CreateContainerConfigError", f"{name} waits for nothing")  # noqa: B023
        assert word in waiting(agent, name)[1], waiting(agent, name)
    cluster.create(CONFIG_MAPS, "later", data={"A": "at last"})
    cluster.await_phase("Running", "no-map")
    assert variables(truth, "no-map")["A"] == "at last"


def test_3_7_the_reasons_for_which_a_container_waits(agent: Agent) -> None:
    def odd(name: str, **fields: Any) -> None:
        agent.drop(f"{name}.json", pod(name, {**container(), **fields}))

    odd("never", image="actorlet.test/nothing:1", imagePullPolicy="Never")
    odd("invalid", image="Not An Image")
    odd("pull", image="localhost:1/nothing:1")
    odd("ghost", image="actorlet.test/user-ghost:1")
    odd("command", command=["/no/such/program"])
    odd("crash", command=["sh", "-c", "sleep 0.2; exit 1"])
    agent.drop("init.json", pod("init", initContainers=[container("slow", "sleep 1000", terminationMessagePath="/t")]))
    agent.drop("hook.json", pod("hook", container(lifecycle={"postStart": {"exec": {"command": ["sleep", "1000"]}}})))
    agent.start()
    expected = {
        "never": {"ErrImageNeverPull"},
        "invalid": {"InvalidImageName"},
        "pull": {"ImagePullBackOff"},
        "ghost": {"CreateContainerError"},
        "command": {"RunContainerError", "CrashLoopBackOff"},
        "crash": {"CrashLoopBackOff"},
        "init": {"PodInitializing"},
        "hook": {"ContainerCreating"},
    }
    seen: dict[str, set[str]] = {name: set() for name in expected}

    def all_seen() -> bool:
        for name, reasons in seen.items():
            reasons.add(waiting(agent, name)[0])
        return all(expected[name] <= reasons for name, reasons in seen.items())

    until(all_seen, 30, lambda: f"{expected} are not all among {seen}: {agent.troubles()}")
    said = [f"{each.event.name}: {each.event.message}" for each in agent.events() if each.event.reason == "Failed"]
    assert f"pull-{NODE}: Error: ErrImagePull" in said, "before it backs off"
    assert any(each.startswith(f"command-{NODE}: Error: ") and "no/such/program" in each for each in said)
