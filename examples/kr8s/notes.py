"""Writes down the address of each pod with the label app=web, in a ConfigMap."""

from kr8s.objects import ConfigMap, Pod


def write_notes(api) -> list[str]:
    """The pods that are new in the notes."""
    found = api.get("configmaps", namespace="default", label_selector={"app": "notes"})
    known = {each.name for each in found}
    new = []
    for pod in api.get(Pod, namespace="default", label_selector={"app": "web"}):
        address = pod.status.get("podIP")
        if address and f"{pod.name}-notes" not in known:
            metadata = {"name": f"{pod.name}-notes", "namespace": "default", "labels": {"app": "notes"}}
            ConfigMap({"metadata": metadata, "data": {"address": address}}, api=api).create()
            new.append(pod.name)
    return sorted(new)
