"""An operator in kopf: a Shop has as many pods as its field `tills` says."""

import kopf
from kubernetes import client, config

IMAGE = "registry.example/till:1"


@kopf.on.startup()
def connect(**_):
    config.load_kube_config()


@kopf.on.create("example.com", "v1", "shops")
@kopf.on.update("example.com", "v1", "shops", field="spec.tills")
def open_tills(name, namespace, spec, **_):
    core = client.CoreV1Api()
    there = {pod.metadata.name for pod in core.list_namespaced_pod(namespace, label_selector=f"shop={name}").items}
    wanted = {f"{name}-till-{number}" for number in range(spec["tills"])}
    for till in sorted(wanted - there):
        body = {
            "metadata": {"name": till, "labels": {"shop": name}},
            "spec": {"containers": [{"name": "till", "image": IMAGE}]},
        }
        kopf.adopt(body)
        core.create_namespaced_pod(namespace, body)
    for till in sorted(there - wanted):
        core.delete_namespaced_pod(till, namespace)
    return {"tills": len(wanted)}
