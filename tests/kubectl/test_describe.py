"""kubectl describe and events: the story of an object."""

from __future__ import annotations

import re

from tests.kubectl.cluster import NODE, POD, Kubectl

USUAL = ["Scheduled", "Pulled", "Created", "Started"]


def section(lines: list[str], heading: str) -> list[str]:
    """The lines below a heading, without indentation."""
    after = lines[lines.index(heading) + 1 :]
    end = next((at for at, line in enumerate(after) if line and line[0] != " "), len(after))
    return [line.strip() for line in after[:end]]


def test_a_pod_with_the_usual_events(kubectl: Kubectl) -> None:
    kubectl.running()
    lines = kubectl("describe", "pod", "web").lines
    for expected in (
        r"Name:\s+web",
        rf"Node:\s+{NODE}/192\.0\.2\.1",
        r"Labels:\s+app=web",
        r"Status:\s+Running",
        r"IP:\s+[0-9.]+",
        r"    Container ID:\s+simulated://[0-9a-f]{64}",
        r"    State:\s+Running",
        r"    Ready:\s+True",
        r"    Restart Count:\s+0",
        r"QoS Class:\s+BestEffort",
        r"  Ready\s+True\s*",
        r"    TokenExpirationSeconds:\s+3607",
        r"Tolerations:\s+node.kubernetes.io/not-ready:NoExecute op=Exists for 300s",
    ):
        assert any(re.fullmatch(expected, line) for line in lines), expected
    told = [line.split() for line in section(lines, "Events:")[2:]]
    assert [words[1] for words in told] == USUAL
    assert [words[3] for words in told] == ["default-scheduler", "kubelet", "kubelet", "kubelet"]
    assert f"Successfully assigned {kubectl.namespace}/web to {NODE}" in "\n".join(lines)


def test_a_pod_that_fits_nowhere_says_why(kubectl: Kubectl) -> None:
    asking = POD.replace('image: "nginx:1.27"', 'image: "nginx:1.27", resources: {requests: {cpu: "64"}}')
    kubectl.apply(asking)
    kubectl("wait", "pod/web", "--for=condition=PodScheduled=False", "--timeout=120s")
    lines = kubectl("describe", "pod", "web").lines
    assert "  PodScheduled   False " in lines
    events = "\n".join(section(lines, "Events:"))
    assert re.search(r"Warning\s+FailedScheduling\s+\S+\s+default-scheduler\s+0/1 nodes are available:", events)
    assert "1 Insufficient cpu." in events


def test_a_node(kubectl: Kubectl) -> None:
    kubectl.running()
    lines = kubectl("describe", "node", NODE).lines
    labels = "\n".join(lines)
    assert f"kubernetes.io/hostname={NODE}" in labels
    conditions = {line.split()[0]: line.split()[1] for line in section(lines, "Conditions:")[2:]}
    assert conditions == {"MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False", "Ready": "True"}
    assert f"HolderIdentity:  {NODE}" in section(lines, "Lease:")
    assert any(line.startswith("pods:") for line in section(lines, "Allocatable:"))
    heading = next(line for line in lines if line.startswith("Non-terminated Pods:"))
    assert [kubectl.namespace, "web"] in [line.split()[:2] for line in section(lines, heading)[2:]]
    assert "NodeHasSufficientMemory" in "\n".join(section(lines, "Events:"))


def test_configuration(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "colours", "--from-literal=sky=blue")
    kubectl("create", "secret", "generic", "door", "--from-literal=code=1234")
    assert "sky:\n----\nblue\n" in kubectl("describe", "configmap", "colours").out
    shown = kubectl("describe", "secret", "door").out
    assert "code:  4 bytes" in shown
    assert "1234" not in shown


def test_a_service_and_an_account(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    kubectl("expose", "pod", "web", "--port=80", "--target-port=8080")
    shown = kubectl("describe", "service", "web").out
    assert re.search(r"Selector:\s+app=web", shown)
    assert re.search(r"TargetPort:\s+8080/TCP", shown)
    assert re.search(r"Name:\s+default", kubectl("describe", "serviceaccount", "default").out)


def test_events_in_their_order(kubectl: Kubectl) -> None:
    kubectl.running()
    head, *rows = kubectl("events").lines
    assert head.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert {row.split()[3] for row in rows} == {"Pod/web"}
    assert {row.split()[2] for row in rows} == set(USUAL)
    assert kubectl("events", "--for", "pod/web").lines[0] == head
    got = kubectl("get", "events", "--field-selector", "reason=Started", "-o", "jsonpath={.items[*].message}")
    assert got.out == "Container started"
    assert "No events found" in kubectl.attempt("events", "--types=Warning").err


def test_events_as_they_come(kubectl: Kubectl) -> None:
    kubectl.apply(POD)
    with kubectl.following("events", "--watch") as lines:
        seen = ""
        while "Container started" not in seen:
            seen += next(lines)
        kubectl("delete", "pod", "web", "--wait=false")
        while "Stopping container main" not in next(lines):
            pass
