"""Deletes the pods of nodes that are gone, so that whoever owns them makes new ones."""

from lightkube import Client
from lightkube.resources.core_v1 import Node, Pod


def is_ready(node: Node) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions or ())


def rescue(client: Client) -> list[str]:
    """Delete them without waiting for their nodes; their names."""
    gone = {node.metadata.name for node in client.list(Node) if not is_ready(node)}
    lost = [pod for pod in client.list(Pod, namespace="*") if pod.spec.nodeName in gone]
    for pod in lost:
        client.delete(Pod, pod.metadata.name, namespace=pod.metadata.namespace, grace_period=0)
    return sorted(pod.metadata.name for pod in lost)
