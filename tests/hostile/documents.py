"""Decoders of whole documents: manifests, objects of the API, configurations, patches, scenarios."""

from __future__ import annotations

import msgspec

from actors.model.pull_records import (
    ALL_PODS,
    RecordError,
    decode_intent,
    decode_record,
    encode_intent,
    encode_record,
    with_grants,
)
from actors.start.environment import everyone, references
from config.api.secret_data import config_map_bytes, secret_bytes
from config.credentials.image_providers import EXEC_V1, ImageProvider, decode_image_providers
from config.credentials.kubeconfig import decode_kubeconfig
from config.credentials.provider_answers import ProviderAnswerError, read_answer
from config.documents.codec import DocumentError, decode, encode, to_builtins, unknown_fields
from config.documents.text import read_documents
from config.kubelet.drop_ins import NamedBytes, merge_documents
from config.kubelet.reading import configuration_document, read_bytes, read_plain
from config.kubelet.validation import validate
from config.manifests import Origin, read_manifest, split_manifest
from config.objects import ApiObject, ConfigMap, Pod, Secret
from config.patches import PatchError, apply_json_patch, apply_strategic, make_strategic, merge_patch, schema_for
from config.pods.defaults import default_pod
from config.pods.identity import compute_qos_class
from config.pods.words import pod_line
from config.validation.pod import validate_pod
from simulation.play.saved_run import read_saved_run
from simulation.scenarios.scenario import ScenarioError, read_scenario
from tests.hostile.decoder import Decoder

KINDS = sorted(
    (kind for kind in ApiObject.__subclasses__() if kind.__module__.startswith("config.objects.")),
    key=lambda kind: kind.__name__,
)
POD = b"""{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"b"},"annotations":{"c":"d"}},"spec":
{"containers":[{"name":"app","image":"nginx:1","command":["a","$(A)"],"env":[{"name":"A","value":"$(B)"},{"name":"C",
"valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['a']"}}}],"ports":[{"containerPort":80,"name":"http"}],
"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"livenessProbe":{"httpGet":{"port":"http"},"periodSeconds":3},
"volumeMounts":[{"name":"v","mountPath":"/v","subPath":"x/y"}]}],"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],
"terminationGracePeriodSeconds":30,"tolerations":[{"operator":"Exists"}],"securityContext":{"runAsUser":1}},
"status":{"phase":"Running","containerStatuses":[{"name":"app","restartCount":1,"state":{"running":{}}}]}}"""
YAML = b"""apiVersion: v1
kind: Pod
metadata: {name: web, uid: a-b, annotations: &a {k: 'v', "l": "\\u00e9"}}
spec:
  <<: {restartPolicy: Never}
  containers:
  - name: app   # a comment
    image: nginx:1
    args: [0644, 1e3, ~, !!str 7, *a]
  volumes: []
---
"""
SETTINGS = b"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
maxPods: 5
syncFrequency: 1m30s
evictionHard: {memory.available: 5%, nodefs.available: 1Gi}
featureGates: {NodeSwap: true}
clusterDNS: [10.0.0.1]
systemReserved: {cpu: 100m}
"""
KUBECONFIG = b"""apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "https://h:6443", certificate-authority-data: LS0tLS1CRUdJTg==}}]
users: [{name: a, user: {token: t, exec: {apiVersion: client.authentication.k8s.io/v1, command: x, args: [y]}}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
"""
PROVIDERS = b"""apiVersion: kubelet.config.k8s.io/v1
kind: CredentialProviderConfig
providers:
- name: p
  matchImages: ["*.r.io:5000/a"]
  defaultCacheDuration: 1h
  apiVersion: credentialprovider.kubelet.k8s.io/v1
  args: [a]
  env: [{name: A, value: b}]
  tokenAttributes: {serviceAccountTokenAudience: a, cacheType: Token, requireServiceAccount: true,
    requiredServiceAccountAnnotationKeys: [a/b], optionalServiceAccountAnnotationKeys: [c]}
"""
PROVIDED = b"""{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1",
"cacheKeyType":"Registry","cacheDuration":"5m0s","auth":{"r.io":{"username":"u","password":"p"}}}"""
PULLED_RECORD = b"""{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"t",
"imageRef":"sha256:1","credentialMapping":{"r.io/app":{"kubernetesSecrets":[{"uid":"u","namespace":"a","name":"b",
"credentialHash":"c"}],"kubernetesServiceAccounts":[{"uid":"u","namespace":"a","name":"b"}]},"x":
{"nodePodsAccessible":true}}}"""
SCENARIO = b"""about: x
nodes: 2
pods: [{name: a, count: 3, comes: 1s}]
faults: []
"""


def manifest(data: bytes) -> object:
    read = read_manifest(data, Origin.file("/m/x.yaml"), "node")
    parts = split_manifest(data) if read.pods else ()
    return read, parts, [(encode(pod), references(pod), everyone(pod)) for pod in read.pods]


def pod(data: bytes) -> object:
    read = decode(data, Pod)
    assert encode(decode(encode(read), Pod)) == encode(read)
    full = default_pod(read)
    faults = validate_pod(full)
    line = None if faults else (pod_line(full, 10**18), compute_qos_class(full.spec))
    return full, faults, line, unknown_fields(read), to_builtins(read)


def any_object(data: bytes) -> object:
    """The first byte chooses the kind."""
    kind = KINDS[data[0] % len(KINDS)] if data else Pod
    read = decode(data[1:], kind)
    assert encode(decode(encode(read), kind)) == encode(read)
    if isinstance(read, Secret):
        return secret_bytes(read)
    return config_map_bytes(read) if isinstance(read, ConfigMap) else read


def settings(data: bytes) -> object:
    value, faults = read_bytes(data)
    read = read_plain(value)
    if faults or read.faults:
        return faults, read
    return validate(read.configuration), configuration_document(read.configuration)


def drop_ins(data: bytes) -> object:
    first, _, rest = data.partition(b"\0")
    parts = [NamedBytes(f"/d/{number}.conf", part) for number, part in enumerate(rest.split(b"\0")[:5])]
    return merge_documents(NamedBytes("/c", first), parts)


def image_providers(data: bytes) -> object:
    first, _, second = data.partition(b"\0")
    return decode_image_providers([("/a.yaml", first), *([("/b.yaml", second)] if second else [])])


def provider_answer(data: bytes) -> object:
    return read_answer(ImageProvider("p", ("r.io",), 0, EXEC_V1), data)


def pull_record(data: bytes) -> object:
    record = decode_record(data)
    assert decode_record(encode_record(record)) == record
    return record, with_grants(record, "r.io/app:1", record.image_ref, ALL_PODS, "t")


def kubeconfig(data: bytes) -> object:
    return decode_kubeconfig(data, "/etc")


def patches(data: bytes) -> object:
    """A document, then each kind of patch, with zero bytes between them."""
    document, _, patch = data.partition(b"\0")
    try:
        before, change = msgspec.json.decode(document), msgspec.json.decode(patch)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    merged = merge_patch(before, change)
    if isinstance(change, list):
        return apply_json_patch(before, change)
    if not isinstance(before, dict) or not isinstance(change, dict):
        return merged
    schema = schema_for("v1", "Pod")
    after = apply_strategic(before, change, schema)
    return merged, after, make_strategic(before, after, schema)


DOCUMENTS = (
    Decoder("yaml", read_documents, (), (YAML, POD, b"a: &x [1, 2]\nb: {<<: {c: 1}, d: *x}\n? long\n: y\n")),
    Decoder("manifest", manifest, (), (YAML, POD, b"apiVersion: v1\nkind: List\nitems:\n- " + POD.replace(b"\n", b""))),
    Decoder("pod", pod, (DocumentError,), (POD,)),
    Decoder(
        "any-object",
        any_object,
        (DocumentError,),
        tuple(bytes([number]) + msgspec.json.encode(kind()) for number, kind in enumerate(KINDS)),
    ),
    Decoder("kubelet-configuration", settings, (), (SETTINGS,)),
    Decoder("drop-ins", drop_ins, (), (SETTINGS + b"\0" + SETTINGS,)),
    Decoder("kubeconfig", kubeconfig, (DocumentError,), (KUBECONFIG,)),
    Decoder("image-providers", image_providers, (DocumentError,), (PROVIDERS, PROVIDERS + b"\0" + PROVIDERS)),
    Decoder("provider-answer", provider_answer, (ProviderAnswerError,), (PROVIDED,)),
    Decoder("pull-record", pull_record, (RecordError,), (PULLED_RECORD,)),
    Decoder("pull-intent", decode_intent, (RecordError,), (encode_intent("r.io/app:1"),)),
    Decoder(
        "patches",
        patches,
        (PatchError,),
        (
            POD + b'\0{"spec":{"containers":[{"name":"app","image":"x"},{"$patch":"delete","name":"y"}]}}',
            b'{"a":[1,{"b":2}]}\0[{"op":"copy","from":"/a","path":"/a/1/c"},{"op":"test","path":"/a/0","value":1}]',
            POD + b'\0{"spec":{"$setElementOrder/containers":[{"name":"app"}],"$retainKeys":["containers"]}}',
        ),
        (
            b'{"op":"copy","from":"/a","path":"/a/-"},',
            b'"$patch":"replace",',
            b'"$deleteFromPrimitiveList/finalizers":',
        ),
    ),
    Decoder("scenario", read_scenario, (ScenarioError,), (SCENARIO,)),
    Decoder("saved-run", read_saved_run, (ScenarioError,), (b"actorlet: 0.1.0\nseed: 1\nscenario:\n  about: x\n",)),
)
