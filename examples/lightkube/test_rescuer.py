import pytest
from lightkube.resources.core_v1 import Pod
from rescuer import rescue


@pytest.mark.simulated_cluster(nodes=3)
def test_pods_of_a_node_without_power_come_up_elsewhere(simulated_cluster):
    client = simulated_cluster.lightkube()
    web = simulated_cluster.load("web", 6)
    simulated_cluster.until(lambda: web.ready == 6)
    assert rescue(client) == []

    simulated_cluster.kill_node("node-1")
    simulated_cluster.step("2m")  # until then nobody can know
    assert len(rescue(client)) == 2

    simulated_cluster.until(lambda: web.ready == 6)
    assert "node-1" not in {pod.spec.nodeName for pod in client.list(Pod, namespace="default")}
