from janitor import clean
from kubernetes import client


def pod(name):
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "app", "image": "nginx"}]}}


def test_a_pod_that_crashes_again_and_again_goes(simulated_cluster):
    core = client.CoreV1Api(simulated_cluster.kubernetes())
    simulated_cluster.behave("bad", run_for="5s", exit_code=1)
    core.create_namespaced_pod("default", pod("bad"))
    core.create_namespaced_pod("default", pod("good"))

    simulated_cluster.step("30s")
    assert clean(core, "default") == [], "twice is not often"

    simulated_cluster.step("10m")
    assert clean(core, "default") == ["bad"]
    simulated_cluster.step("1m")
    assert [each.metadata.name for each in core.list_namespaced_pod("default").items] == ["good"]
