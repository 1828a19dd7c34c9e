"""Pods find each other on containerd at the addresses that the agent publishes, and so does the host.

The packets are the network plugin's; that each sandbox has a network, and that its address is the published one, is
ours.
"""

from __future__ import annotations

from tests.real.agent import Agent
from tests.real.pods import Truth, container, pod

SERVES = "mkdir -p /www; hostname > /www/index.html; trap 'exit 0' TERM; httpd -f -p 8080 -h /www & wait"
ASKS = r"printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 5 {} 8080"


def ip_of(agent: Agent, name: str) -> str:
    status = agent.pod(name).status
    assert status is not None
    assert status.pod_ip
    return status.pod_ip


def test_networking_pods_reach_each_other_over_http_and_so_does_the_host(agent: Agent, truth: Truth) -> None:
    for name in ("one", "two"):
        agent.drop(f"{name}.json", pod(name, container(script=SERVES)))
    agent.drop("host.json", pod("host", hostNetwork=True))
    agent.start()
    for name in ("one", "two", "host"):
        agent.await_running(name)
    ips = {name: ip_of(agent, name) for name in ("one", "two")}
    assert ips["one"] != ips["two"]
    for client, server in (("one", "two"), ("two", "one"), ("host", "one"), ("host", "two")):
        answer = truth.run(truth.running(client), "sh", "-c", ASKS.format(ips[server]))
        assert answer.startswith("HTTP/1.1 200 OK"), (client, server)
        assert answer.splitlines()[-1].startswith(server), (client, server)
