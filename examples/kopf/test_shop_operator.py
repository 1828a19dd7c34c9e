import os
import subprocess
import sys

import pytest
from kubernetes import client

SHOP = ("example.com", "v1", "default", "shops")


@pytest.fixture
def operator(simulated_cluster):
    """The operator as a process of its own, as it runs in production."""
    simulated_cluster.apply("shop.yaml")
    words = ["-m", "kopf", "run", "shop_operator.py", "--standalone", "--namespace=default"]
    process = subprocess.Popen([sys.executable, *words], env={**os.environ, "KUBECONFIG": simulated_cluster.kubeconfig})
    yield process
    process.terminate()
    process.wait()


@pytest.mark.simulated_cluster(time="auto", pause="500ms")
def test_a_shop_has_the_tills_that_it_asks_for(simulated_cluster, operator):
    api = simulated_cluster.kubernetes()
    core, shops = client.CoreV1Api(api), client.CustomObjectsApi(api)
    shop = {"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "corner"}, "spec": {"tills": 3}}

    def running():
        pods = core.list_namespaced_pod("default", label_selector="shop=corner").items
        return sum(pod.status.phase == "Running" for pod in pods)

    shops.create_namespaced_custom_object(*SHOP, shop)
    simulated_cluster.until(lambda: running() == 3, within="10m")

    shops.patch_namespaced_custom_object(*SHOP, "corner", {"spec": {"tills": 1}})
    simulated_cluster.until(lambda: running() == 1, within="10m")
