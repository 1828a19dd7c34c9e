"""Deletes pods that restart too often."""

from kubernetes import client

RESTARTS_AT_MOST = 3


def clean(core: client.CoreV1Api, namespace: str) -> list[str]:
    """Delete them; their names."""
    deleted = []
    for pod in core.list_namespaced_pod(namespace).items:
        restarts = sum(each.restart_count for each in pod.status.container_statuses or ())
        if restarts > RESTARTS_AT_MOST:
            core.delete_namespaced_pod(pod.metadata.name, namespace)
            deleted.append(pod.metadata.name)
    return deleted
