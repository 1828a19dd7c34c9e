"""Every ConfigMap and Secret that a pod can refer to is found, with what it is for (spec 8.9)."""

from __future__ import annotations

from typing import Any

import pytest

from actors.start.environment import environment_objects, pull_secrets, references, uses_tokens
from config.documents.codec import from_builtins
from config.objects import Pod


def pod_with(container: dict[str, Any] | None = None, group: str = "containers", **spec: Any) -> Pod:
    document = {"containers": [{"name": "a", "image": "b"}], **spec}
    if container is not None:
        document[group] = [*document.get(group, []), {"name": "c", "image": "d", **container}]
    return from_builtins({"metadata": {"name": "p", "namespace": "shop"}, "spec": document}, Pod)


def volume(**source: Any) -> Pod:
    return pod_with(volumes=[{"name": "v", **source}])


def projected(**source: Any) -> Pod:
    return volume(projected={"sources": [source]})


def variable(**source: Any) -> dict[str, Any]:
    return {"env": [{"name": "X", "valueFrom": source}]}


@pytest.mark.parametrize(
    ("pod", "found"),
    [
        pytest.param(pod_with(), [], id="none"),
        pytest.param(
            pod_with(imagePullSecrets=[{"name": "s"}, {}]), ['secret "shop/s" pull optional'], id="pull secret"
        ),
        pytest.param(
            pod_with({"envFrom": [{"configMapRef": {"name": "m", "optional": True}}, {"secretRef": {"name": "s"}}]}),
            ['configmap "shop/m" environment optional', 'secret "shop/s" environment'],
            id="envFrom",
        ),
        pytest.param(
            pod_with(variable(configMapKeyRef={"name": "m", "key": "K"})),
            ['configmap "shop/m" environment'],
            id="a key of a map",
        ),
        pytest.param(
            pod_with(variable(secretKeyRef={"name": "s", "key": "K"}), "initContainers"),
            ['secret "shop/s" environment'],
            id="a key of a secret in an init container",
        ),
        pytest.param(
            pod_with(variable(secretKeyRef={"name": "s", "key": "K"}), "ephemeralContainers"),
            ['secret "shop/s" environment'],
            id="in an ephemeral container",
        ),
        pytest.param(pod_with(variable(fieldRef={"fieldPath": "metadata.name"})), [], id="fields are not objects"),
        pytest.param(volume(configMap={"name": "m"}), ['configmap "shop/m" volume'], id="configMap"),
        pytest.param(
            volume(secret={"secretName": "s", "optional": True}), ['secret "shop/s" volume optional'], id="secret"
        ),
        pytest.param(projected(configMap={"name": "m"}), ['configmap "shop/m" volume'], id="projected map"),
        pytest.param(projected(secret={"name": "s"}), ['secret "shop/s" volume'], id="projected secret"),
        pytest.param(projected(serviceAccountToken={"path": "t"}), [], id="a token is not an object"),
        pytest.param(
            volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "s"}}), ['secret "shop/s" volume'], id="csi"
        ),
        pytest.param(
            volume(iscsi={"targetPortal": "t", "iqn": "i", "lun": 0, "secretRef": {"name": "s"}}),
            ['secret "shop/s" volume'],
            id="iscsi",
        ),
        pytest.param(
            volume(azureFile={"secretName": "s", "shareName": "x"}), ['secret "shop/s" volume'], id="azureFile"
        ),
    ],
)
def test_references_are_found(pod: Pod, found: list[str]) -> None:
    texts = [f"{each.ref} {each.purpose.value}{' optional' * each.optional}" for each in references(pod)]
    assert texts == found


def test_objects_are_told_once_and_by_what_they_are_for() -> None:
    twice = {"envFrom": [{"configMapRef": {"name": "m"}}, {"configMapRef": {"name": "m"}}]}
    pod = pod_with(twice, volumes=[{"name": "v", "secret": {"secretName": "s"}}], imagePullSecrets=[{"name": "p"}])
    assert [ref.name for ref in environment_objects(pod)] == ["m"]
    assert [ref.name for ref in pull_secrets(pod)] == ["p"]


def test_a_projected_token_is_noticed() -> None:
    assert uses_tokens(projected(serviceAccountToken={"path": "t"}))
    assert not uses_tokens(projected(configMap={"name": "m"}))
