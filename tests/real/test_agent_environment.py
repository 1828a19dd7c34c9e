"""What a container on containerd finds in its environment (spec 3.7, 3.8, 13).

Where `$(VAR)` is replaced, and the waiting reason when something is missing.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.real.agent import NODE, Agent
from tests.real.pods import Truth, Witness, container, pod
from tests.real.waiting import until


def field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def amount(name: str, resource: str, divisor: str = "0", of: str = "main") -> dict[str, Any]:
    reference = {"containerName": of, "resource": resource, "divisor": divisor}
    return {"name": name, "valueFrom": {"resourceFieldRef": reference}}


@pytest.fixture(scope="module")
def agent(shared_agent: Agent) -> Agent:
    """One for all tests here, whose pods have names of their own."""
    shared_agent.start()
    return shared_agent


@pytest.fixture(scope="module")
def truth(shared_truth: Truth) -> Truth:
    return shared_truth


def test_13_3_a_pod_gets_its_own_fields_as_variables_and_files(agent: Agent, truth: Truth) -> None:
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
    agent.await_running("self")
    found, status = truth.variables("self"), agent.status("self")
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


# (spec 13.4.2)
def test_13_4_references_are_replaced_everywhere_they_may_stand(agent: Agent, truth: Truth) -> None:
    witness = Witness(agent.directory, "refs")
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
    agent.await_running("refs")
    agent.await_that(lambda: len(set(witness.said())) == 3, "not all is said")
    said = {line.split(" ")[0]: line for line in witness.said()}
    both = f"one of refs-{NODE}, $(LATER), $(STATIC), $(STATIC"
    assert said["one"] == f"one {both} $(NOBODY) $(STATIC)"
    # A probe knows the values that the pod's author wrote, and no others; a hook is taken as it stands.
    assert said["probe"] == "probe one "
    assert said["hook"] == "hook $(STATIC)"
    assert truth.variables("refs")["BOTH"] == both


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
    agent.await_running("good")
    found = truth.variables("good")
    assert (found["GREETING"], found["C"], found["OF_C"]) == ("hello\nworld", "blue", "blue!")
    assert not {"NONE", "NO_FILE"} & found.keys()
    for name in ("key", "bare", "file"):
        agent.await_that(lambda: agent.waiting(name)[0] == "CreateContainerConfigError", f"{name} waits for nothing")  # noqa: B023
        assert "$.spec.containers[0].env[0]" in agent.waiting(name)[1], agent.waiting(name)
        assert truth.lives(name, "main") == ()


# (spec 3.7.4)
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
            reasons.add(agent.waiting(name)[0])
        return all(expected[name] <= reasons for name, reasons in seen.items())

    until(all_seen, 30, lambda: f"{expected} are not all among {seen}: {agent.troubles()}")
    failed = {name: [each.event.message for each in agent.events_of(name, "Failed")] for name in ("pull", "command")}
    assert "Error: ErrImagePull" in failed["pull"], "before it backs off"
    assert any(each.startswith("Error: ") and "no/such/program" in each for each in failed["command"])
