"""Custom resources with kubectl: defined, explained, applied, shown, scaled, edited, deleted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kubectl.cluster import Kubectl, World

DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget, shortNames: [wd], categories: [shop]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Color, type: string, jsonPath: .spec.color}
    - {name: Wanted, type: integer, jsonPath: .spec.replicas}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status', priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            description: What the widget is to be like.
            required: [color]
            properties:
              color: {type: string, enum: [red, green], description: The color of its case.}
              replicas: {type: integer, minimum: 0, default: 1}
              parts:
                type: array
                items: {type: object, properties: {name: {type: string}, size: {type: integer}}}
          status:
            type: object
            x-kubernetes-preserve-unknown-fields: true
"""
WIDGET = """
apiVersion: shop.example.com/v1
kind: Widget
metadata: {name: lamp}
spec: {color: red, parts: [{name: bulb, size: 2}]}
"""
NAME = "widgets.shop.example.com"


@pytest.fixture(scope="module")
def defined(shared_world: World) -> Iterator[World]:
    kubectl = shared_world.kubectl()
    said = kubectl("create", "-f", "-", stdin=DEFINITION).out
    assert said == f"customresourcedefinition.apiextensions.k8s.io/{NAME} created\n"
    kubectl("wait", "--for=condition=established", f"crd/{NAME}", "--timeout=120s")
    yield shared_world
    kubectl.attempt("delete", "crd", NAME)


@pytest.fixture
def shop(defined: World) -> Kubectl:
    return defined.kubectl()


def test_a_definition_is_shown_as_it_is(shop: Kubectl) -> None:
    assert list(shop("get", "crd").row(NAME)) == ["NAME", "CREATED AT"]
    assert "NamesAccepted" in shop("describe", "crd", NAME).out
    row = next(line for line in shop("api-resources").lines if line.startswith("widgets "))
    assert row.split() == ["widgets", "wd", "shop.example.com/v1", "true", "Widget"]
    assert shop("apply", "-f", "-", "--server-side", stdin=DEFINITION).out.endswith("serverside-applied\n")


def test_a_custom_resource_is_explained(shop: Kubectl) -> None:
    assert "What the widget is to be like." in shop("explain", "wd").out
    told = shop("explain", "widgets.spec").out
    assert "The color of its case." in told
    assert "enum: red, green" in told
    assert "-required-" in told
    assert "ObjectMeta" in shop("explain", "widgets.metadata").out


def test_applied_again_and_changed(shop: Kubectl) -> None:
    assert shop.apply(WIDGET).out == "widget.shop.example.com/lamp created\n"
    assert shop.apply(WIDGET).out == "widget.shop.example.com/lamp unchanged\n"
    assert shop.apply(WIDGET.replace("red", "green")).out == "widget.shop.example.com/lamp configured\n"
    assert shop.apply(WIDGET, "--server-side", "--force-conflicts").out.endswith("serverside-applied\n")
    value = shop("get", "widget", "lamp", "-o", "json").json()
    assert value["spec"] == {"color": "red", "replicas": 1, "parts": [{"name": "bulb", "size": 2}]}
    assert value["metadata"]["generation"] == 3


def test_the_columns_are_those_of_the_definition(shop: Kubectl) -> None:
    shop.apply(WIDGET)
    patch = '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}'
    shop("patch", "wd", "lamp", "--subresource=status", "--type=merge", "-p", patch)
    row = shop("get", "wd").row("lamp")
    assert {name: row[name] for name in ("COLOR", "WANTED")} == {"COLOR": "red", "WANTED": "1"}
    assert "READY" not in row
    assert shop("get", "wd", "-o", "wide").row("lamp")["READY"] == "True"
    assert shop("get", "shop", "-o", "name").out == "widget.shop.example.com/lamp\n"
    shop("wait", "--for=condition=Ready", "wd/lamp", "--timeout=120s")


def test_what_the_schema_forbids_is_refused_in_its_words(shop: Kubectl) -> None:
    said = shop.refused("apply", "-f", "-", stdin=WIDGET.replace("size: 2", "size: big"))
    assert said.endswith(
        'The Widget "lamp" is invalid: spec.parts[0].size: Invalid value: "string": '
        'spec.parts[0].size in body must be of type integer: "string"'
    )
    said = shop.refused("apply", "-f", "-", stdin=WIDGET.replace("color", "colour"))
    assert 'strict decoding error: unknown field "spec.colour"' in said


def test_scaled_patched_labelled_and_deleted(shop: Kubectl) -> None:
    shop.apply(WIDGET)
    assert shop("scale", "wd/lamp", "--replicas=4").out == "widget.shop.example.com/lamp scaled\n"
    assert shop("get", "wd", "lamp", "-o", "jsonpath={.spec.replicas}").out == "4"
    shop("patch", "wd", "lamp", "--type=merge", "-p", '{"spec": {"color": "green"}}')
    shop("patch", "wd", "lamp", "--type=json", "-p", '[{"op": "remove", "path": "/spec/parts"}]')
    assert shop("get", "wd", "lamp", "-o", "jsonpath={.spec}").json() == {"color": "green", "replicas": 4}
    shop("label", "wd", "lamp", "room=hall")
    assert shop("get", "wd", "-l", "room=hall", "-o", "name").out == "widget.shop.example.com/lamp\n"
    assert shop("edit", "wd", "lamp", KUBE_EDITOR="sed -i s/green/red/").out == "widget.shop.example.com/lamp edited\n"
    assert shop("delete", "wd", "lamp").out.startswith('widget.shop.example.com "lamp" deleted')
    assert "not found" in shop.refused("get", "wd", "lamp")


def test_a_definition_that_goes_takes_its_objects_along(own_kubectl: Kubectl) -> None:
    kubectl = own_kubectl
    kubectl("create", "-f", "-", stdin=DEFINITION)
    kubectl.apply(WIDGET)
    assert kubectl.attempt("delete", "crd", NAME).code == 0
    # kubectl remembers that there was such a resource, and asks for it.
    assert "could not find the requested resource" in kubectl.refused("get", "widgets")
    kubectl("create", "-f", "-", stdin=DEFINITION)
    assert kubectl.attempt("get", "widgets").err.startswith("No resources found")
