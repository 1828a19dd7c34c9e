"""What is to be in volumes that are made of objects."""

from __future__ import annotations

from typing import Any

import pytest

from actors.messages.references import CertificatePlace, ObjectRef, ReadFailure, TrustWant
from actors.volumes.wishes.payloads import Answers, contents_of, fs_user
from actors.volumes.wishes.wants import TokenWant, Wants, has_config_volumes, wants_of
from config.objects import (
    ClusterTrustBundleProjection,
    ConfigMap,
    ConfigMapProjection,
    ConfigMapVolumeSource,
    Container,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    KeyToPath,
    ObjectFieldSelector,
    ObjectMeta,
    Pod,
    PodCertificateProjection,
    PodSecurityContext,
    PodSpec,
    ProjectedVolumeSource,
    ResourceFieldSelector,
    Secret,
    SecretProjection,
    SecretVolumeSource,
    SecurityContext,
    ServiceAccountTokenProjection,
    Volume,
    VolumeMount,
    VolumeProjection,
)
from config.objects.selectors import LabelSelector, LabelSelectorRequirement
from runtime.volumes.capability import Payload, VolumeFile

CFG, SEC = ObjectRef("ConfigMap", "ns", "cfg"), ObjectRef("Secret", "ns", "sec")
CONFIG_MAP = ConfigMap(data={"a": "é", "b": "2"}, binary_data={"bin": "AP8="})
SECRET = Secret(data={"key": "c2VjcmV0", "a": "b3RoZXI="})
TOKEN = TokenWant("", 3600)
FOUND = Answers({CFG: CONFIG_MAP, SEC: SECRET}, tokens={TOKEN: "jwt"}, anchors={TrustWant(name="b"): b"PEM"})
GONE = Answers(failures={CFG: ReadFailure(True, "404"), SEC: ReadFailure(True, "404")})
AWAY = Answers(failures={CFG: ReadFailure(False, "timeout"), SEC: ReadFailure(False, "timeout")})


def pod(*volumes: Volume, mounted: bool = True, context: PodSecurityContext | None = None, **container: Any) -> Pod:
    mounts = tuple(VolumeMount(name=volume.name, mount_path="/x") for volume in volumes) if mounted else ()
    return Pod(
        metadata=ObjectMeta(name="p", namespace="ns", uid="u", labels={"app": "web", "a": "1"}),
        spec=PodSpec(
            volumes=volumes,
            security_context=context,
            containers=(Container(name="c", volume_mounts=mounts, **container),),
        ),
    )


def config_map(**fields: Any) -> Volume:
    return Volume(name="v", config_map=ConfigMapVolumeSource(name="cfg", **fields))


def secret(**fields: Any) -> Volume:
    return Volume(name="v", secret=SecretVolumeSource(secret_name="sec", **fields))


def downward(*items: DownwardAPIVolumeFile, **fields: Any) -> Volume:
    return Volume(name="v", downward_api=DownwardAPIVolumeSource(items=items, **fields))


def projected(*sources: VolumeProjection, **fields: Any) -> Volume:
    return Volume(name="v", projected=ProjectedVolumeSource(sources=sources, **fields))


def token(path: str = "token", **fields: Any) -> VolumeProjection:
    return VolumeProjection(service_account_token=ServiceAccountTokenProjection(path=path, **fields))


def anchors(**fields: Any) -> VolumeProjection:
    said = fields or {"name": "b"}
    return VolumeProjection(cluster_trust_bundle=ClusterTrustBundleProjection(path="x", **said))


def field(path: str, name: str, mode: int | None = None) -> DownwardAPIVolumeFile:
    return DownwardAPIVolumeFile(path=path, field_ref=ObjectFieldSelector(field_path=name), mode=mode)


def amount(path: str, resource: str, **fields: Any) -> DownwardAPIVolumeFile:
    selector = ResourceFieldSelector(container_name="c", resource=resource, **fields)
    return DownwardAPIVolumeFile(path=path, resource_field_ref=selector)


def items(*triples: tuple[str, str, int | None]) -> tuple[KeyToPath, ...]:
    return tuple(KeyToPath(key=key, path=path, mode=mode) for key, path, mode in triples)


def of(volume: Volume, answers: Answers = FOUND, **fields: Any) -> Payload | str:
    contents = contents_of(pod(volume, **fields), answers)
    assert len(contents.payloads) + len(contents.refusals) == 1
    return contents.refusals["v"] if contents.refusals else contents.payloads["v"]


def files(**named: tuple[bytes, int]) -> Payload:
    return {name: VolumeFile(data, mode) for name, (data, mode) in named.items()}


ROOT_CA = VolumeProjection(config_map=ConfigMapProjection(name="cfg", items=items(("a", "ca.crt", None))))
NAMESPACE = VolumeProjection(downward_api=DownwardAPIProjection(items=(field("namespace", "metadata.namespace"),)))


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        pytest.param(
            config_map(),
            files(a=("é".encode(), 0o644), b=(b"2", 0o644), bin=(b"\0\xff", 0o644)),
            id="every key is a file",
        ),
        pytest.param(secret(default_mode=0o400), files(key=(b"secret", 0o400), a=(b"other", 0o400)), id="mode of all"),
        pytest.param(
            config_map(items=items(("a", "dir/x", None), ("bin", "y", 0o600))),
            {"dir/x": VolumeFile("é".encode()), "y": VolumeFile(b"\0\xff", 0o600)},
            id="chosen keys with paths and modes",
        ),
        pytest.param(
            config_map(items=items(("no", "x", None), ("a", "y", None)), optional=True),
            files(y=("é".encode(), 0o644)),
            id="a missing key that is optional",
        ),
        pytest.param(
            downward(field("labels", "metadata.labels"), field("me", "metadata.uid", 0o400), default_mode=0o440),
            files(labels=(b'a="1"\napp="web"', 0o440), me=(b"u", 0o400)),
            id="fields",
        ),
        pytest.param(
            downward(amount("cpu", "limits.cpu", divisor="1m"), amount("memory", "requests.memory")),
            files(cpu=(b"2000", 0o644), memory=(b"0", 0o644)),
            id="amounts",
        ),
        pytest.param(
            projected(token(), ROOT_CA, NAMESPACE),
            {**files(token=(b"jwt", 0o644), namespace=(b"ns", 0o644)), "ca.crt": VolumeFile("é".encode())},
            id="the token volume of every pod of a cluster",
        ),
        pytest.param(
            projected(
                VolumeProjection(config_map=ConfigMapProjection(name="cfg", items=items(("a", "a", 0o600)))),
                VolumeProjection(secret=SecretProjection(name="sec", items=items(("a", "a", None)))),
                default_mode=0o444,
            ),
            files(a=(b"other", 0o444)),
            id="the later source wins",
        ),
        pytest.param(projected(anchors(), VolumeProjection()), files(x=(b"PEM", 0o644)), id="trust anchors"),
    ],
)
def test_files_are_made_of_objects(volume: Volume, expected: Payload):
    answers = Answers(FOUND.objects, {}, FOUND.tokens, {}, {"cpu": "2"}, FOUND.anchors)
    assert of(volume, answers) == expected


OPTIONAL = (VolumeProjection(config_map=ConfigMapProjection(name="cfg", optional=True)), NAMESPACE)


@pytest.mark.parametrize(
    ("volume", "answers", "expected"),
    [
        (config_map(), GONE, 'configmap "cfg" not found'),
        (secret(), GONE, 'secret "sec" not found'),
        (secret(optional=True), GONE, {}),
        (config_map(), AWAY, 'configmap "cfg" cannot be read: timeout'),
        (config_map(optional=True), AWAY, 'configmap "cfg" cannot be read: timeout'),
        (projected(*OPTIONAL), GONE, files(namespace=(b"ns", 0o644))),
        (
            config_map(items=items(("no", "x", None))),
            FOUND,
            "configmap references non-existent config key: no",
        ),
        (secret(items=items(("no", "x", None))), FOUND, "references non-existent secret key: no"),
        (
            projected(ROOT_CA, VolumeProjection(secret=SecretProjection(name="sec"))),
            GONE,
            '[configmap "cfg" not found, secret "sec" not found]',
        ),
        (
            projected(token()),
            Answers(refusals={TOKEN: "failed to fetch token: forbidden"}),
            "failed to fetch token: forbidden",
        ),
        (
            projected(token(audience="vault", expiration_seconds=600)),
            FOUND,
            "failed to fetch token: nobody has answered yet",
        ),
        (
            projected(anchors(name="roots")),
            Answers(refusals={TrustWant(name="roots"): "why not"}),
            "spec.volumes[0].projected.sources[0].clusterTrustBundle: why not",
        ),
        (
            projected(
                anchors(
                    label_selector=LabelSelector(match_expressions=(LabelSelectorRequirement(key="a", operator="Is"),))
                )
            ),
            FOUND,
            "spec.volumes[0].projected.sources[0].clusterTrustBundle.labelSelector: matchExpressions 'a': "
            "'Is' is not an operator; write one of In, NotIn, Exists, DoesNotExist",
        ),
        (
            projected(NAMESPACE, VolumeProjection(pod_certificate=PodCertificateProjection(key_path="x"))),
            Answers(refusals={CertificatePlace("v", 1): "why not"}),
            "spec.volumes[0].projected.sources[1].podCertificate: why not",
        ),
        (
            secret(),
            Answers({SEC: Secret(data={"key": "c2Vj!"})}),
            'secret "sec": $.data.key: it is not base64: Excess data after padding; encode the value',
        ),
    ],
)
# (spec 8.7.9)
def test_a_missing_object_refuses_the_volume_unless_it_is_optional(
    volume: Volume, answers: Answers, expected: Payload | str
):
    got = of(volume, answers)
    if isinstance(expected, str) and "base64" in expected:
        assert isinstance(got, str)
        assert got.startswith('secret "sec": $.data')
        assert "c2Vj" not in got
    else:
        assert got == expected


@pytest.mark.parametrize(
    ("item", "place"),
    [
        (field("x", "status.podIP"), "spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath: "),
        (amount("x", "limits.memory"), "spec.volumes[0].downwardAPI.items[0].resourceFieldRef.resource: "),
    ],
)
def test_a_field_that_cannot_be_shown_is_named_with_its_place(item: DownwardAPIVolumeFile, place: str):
    refusal = of(downward(item))
    assert isinstance(refusal, str)
    assert refusal.startswith(place)


def test_one_volume_that_is_refused_does_not_concern_the_others():
    other = Volume(name="w", downward_api=DownwardAPIVolumeSource(items=(field("name", "metadata.name"),)))
    contents = contents_of(pod(config_map(), other), GONE)
    assert list(contents.payloads) == ["w"]
    assert list(contents.refusals) == ["v"]


# (spec 8.3.1)
def test_only_what_is_mounted_is_wanted_and_each_thing_once():
    volumes = (config_map(), Volume(name="w", projected=projected(token(), ROOT_CA, token("other")).projected))
    assert wants_of(pod(*volumes)) == Wants((CFG,), (TOKEN,))
    assert has_config_volumes(pod(*volumes))
    assert wants_of(pod(*volumes, mounted=False)) == Wants()
    assert not has_config_volumes(pod(*volumes, mounted=False))
    assert not has_config_volumes(pod(Volume(name="v", empty_dir=EmptyDirVolumeSource())))
    nameless = Volume(name="v", config_map=ConfigMapVolumeSource())
    assert wants_of(pod(nameless)) == Wants()
    assert wants_of(pod(projected(token(audience="vault", expiration_seconds=600)))).tokens == (
        TokenWant("vault", 600),
    )


@pytest.mark.parametrize(
    ("of_pod", "of_container", "group", "expected"),
    [
        (None, None, None, VolumeFile(b"jwt", 0o640)),
        (1000, None, None, VolumeFile(b"jwt", 0o600, 1000)),
        (1000, 2000, None, VolumeFile(b"jwt", 0o600, 2000)),
        (None, 0, None, VolumeFile(b"jwt", 0o600, 0)),
        (None, None, 777, VolumeFile(b"jwt", 0o600)),
    ],
)
# (spec 8.7.11)
def test_a_token_belongs_to_the_user_of_all_containers(
    of_pod: int | None, of_container: int | None, group: int | None, expected: VolumeFile
):
    context = PodSecurityContext(run_as_user=of_pod, fs_group=group)
    own = SecurityContext(run_as_user=of_container)
    assert of(projected(token(), default_mode=0o640), context=context, security_context=own) == {"token": expected}


# (spec 8.7.11)
def test_containers_of_several_users_have_none_in_common():
    def container(user: int | None) -> Container:
        return Container(name=f"c{user}", security_context=SecurityContext(run_as_user=user))

    spec = PodSpec(containers=(container(1), container(2)))
    assert fs_user(Pod(spec=spec)) is None
    assert fs_user(Pod(spec=PodSpec(containers=(container(1),), init_containers=(container(None),)))) is None
    assert fs_user(Pod(spec=PodSpec(containers=(container(1),), init_containers=(container(1),)))) == 1
