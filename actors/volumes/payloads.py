"""The files of configMap, secret, downwardAPI and projected volumes (spec 8.7, 13.3). Pure.

`wants_of` lists what to ask for a pod, `contents_of` turns the answers into files. A volume that lacks something that
is not optional is refused as a whole, with all its errors. The other volumes of the pod are unaffected.
In a projected volume a later source wins over an earlier one that writes the same path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from actors.messages.references import CertificatePlace, CredentialBundle, ObjectRef, ReadFailure, TrustWant
from actors.model.refusal import ContainerRefusedError
from actors.start.mounts import agent_volumes
from actors.start.pod_fields import file_field, resource_value
from config.api.secret_data import config_map_bytes, secret_bytes
from config.api.selectors import SelectorError, label_query
from config.documents.codec import DocumentError
from config.objects import (
    ClusterTrustBundleProjection,
    ConfigMap,
    DownwardAPIVolumeFile,
    KeyToPath,
    Pod,
    PodCertificateProjection,
    Secret,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from config.pods.defaults import DEFAULT_MODE, DEFAULT_TOKEN_SECONDS
from runtime.volumes.capability import NO_CONTENTS, Contents, VolumeFile
from runtime.volumes.pod_volumes import field_path_of, used_volumes

PRIVATE_MODE = 0o600
"""The mode of tokens, certificates and trust anchors with an owner or a group.

fsGroup handling adds the group.
"""

_NO_AMOUNTS: Mapping[str, str] = {}


class TokenWant(msgspec.Struct, frozen=True, gc=False):
    """A token of the pod's service account. An empty `audience` is the API server's own."""

    audience: str
    expiration_seconds: int


class Wants(msgspec.Struct, frozen=True):
    """The objects, tokens, trust anchors and certificates that the volumes of a pod need, each once."""

    refs: tuple[ObjectRef, ...] = ()
    tokens: tuple[TokenWant, ...] = ()
    anchors: tuple[TrustWant, ...] = ()
    certificates: tuple[CertificatePlace, ...] = ()


_NO_WANTS = Wants()


class Answers(msgspec.Struct, frozen=True):
    """The answers to `Wants`. `refusals`: why there is no token, certificate or trust anchor.
    `allocatable`: of the node, by resource.
    """

    objects: Mapping[ObjectRef, ConfigMap | Secret] = {}
    failures: Mapping[ObjectRef, ReadFailure] = {}
    tokens: Mapping[TokenWant, str] = {}
    refusals: Mapping[TokenWant | TrustWant | CertificatePlace, str] = {}
    allocatable: Mapping[str, str] = _NO_AMOUNTS
    anchors: Mapping[TrustWant, bytes] = {}
    certificates: Mapping[CertificatePlace, CredentialBundle] = {}


def has_config_volumes(pod: Pod) -> bool:
    """Whether some container mounts a volume that the agent fills with files."""
    of_agent = agent_volumes(pod)
    return bool(of_agent) and not of_agent.isdisjoint(used_volumes(pod))


def wants_of(pod: Pod) -> Wants:
    """Everything that the mounted volumes of the pod refer to, in the pod's order."""
    if not (volumes := _config_volumes(pod)):
        return _NO_WANTS
    refs: dict[ObjectRef, None] = {}
    tokens: dict[TokenWant, None] = {}
    anchors: dict[TrustWant, None] = {}
    certificates: list[CertificatePlace] = []
    for _, volume in volumes:
        for kind, name in _references(volume):
            if name:
                refs[ObjectRef(kind, pod.metadata.namespace, name)] = None
        for index, source in enumerate(_projections(volume)):
            if source.pod_certificate is not None:
                certificates.append(CertificatePlace(volume.name, index))
            if source.service_account_token is not None:
                tokens[_token_want(source.service_account_token)] = None
            if source.cluster_trust_bundle is not None:
                with suppress(SelectorError):  # the volume is refused for it
                    anchors[_trust_want(source.cluster_trust_bundle)] = None
    return Wants(tuple(refs), tuple(tokens), tuple(anchors), tuple(certificates))


def contents_of(pod: Pod, answers: Answers) -> Contents:
    """The files of every volume that the agent fills, or why it is refused."""
    if not (volumes := _config_volumes(pod)):
        return NO_CONTENTS
    payloads: dict[str, Mapping[str, VolumeFile]] = {}
    refusals: dict[str, str] = {}
    for index, volume in volumes:
        filling = _Filling(pod, answers, field_path_of(index, volume))
        filling.fill(volume)
        if filling.faults:
            refusals[volume.name] = filling.reason()
        else:
            payloads[volume.name] = filling.files
    return Contents(payloads, refusals)


def fs_user(pod: Pod) -> int | None:
    """The user that owns the tokens: the one that all containers are set to run as, or None."""
    of_pod = pod.spec.security_context.run_as_user if pod.spec.security_context is not None else None
    found: set[int | None] = set()
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        context = container.security_context
        own = context.run_as_user if context is not None else None
        found.add(of_pod if own is None else own)
    return found.pop() if len(found) == 1 else None


def _config_volumes(pod: Pod) -> list[tuple[int, Volume]]:
    if not pod.spec.volumes:
        return []
    wanted = agent_volumes(pod) & used_volumes(pod)
    return [(index, volume) for index, volume in enumerate(pod.spec.volumes) if volume.name in wanted]


def _references(volume: Volume) -> Iterable[tuple[str, str | None]]:
    if volume.config_map is not None:
        yield "ConfigMap", volume.config_map.name
    if volume.secret is not None:
        yield "Secret", volume.secret.secret_name
    for source in _projections(volume):
        if source.config_map is not None:
            yield "ConfigMap", source.config_map.name
        if source.secret is not None:
            yield "Secret", source.secret.name


def _projections(volume: Volume) -> tuple[VolumeProjection, ...]:
    return volume.projected.sources if volume.projected is not None else ()


def _token_want(projection: ServiceAccountTokenProjection) -> TokenWant:
    seconds = projection.expiration_seconds
    return TokenWant(projection.audience or "", DEFAULT_TOKEN_SECONDS if seconds is None else seconds)


def _trust_want(projection: ClusterTrustBundleProjection) -> TrustWant:
    """Raises SelectorError."""
    optional = bool(projection.optional)
    if projection.name is not None:
        return TrustWant(name=projection.name, optional=optional)
    selector = projection.label_selector
    labels = None if selector is None else label_query(selector)
    return TrustWant(signer_name=projection.signer_name or "", labels=labels, optional=optional)


class _Filling:
    """Collects the files and the faults of one volume. `path`: the field path of its source."""

    def __init__(self, pod: Pod, answers: Answers, path: str) -> None:
        self.files: dict[str, VolumeFile] = {}
        self.faults: list[str] = []
        self._pod = pod
        self._answers = answers
        self._path = path
        self._mode = DEFAULT_MODE

    def reason(self) -> str:
        return self.faults[0] if len(self.faults) == 1 else f"[{', '.join(self.faults)}]"

    def fill(self, volume: Volume) -> None:
        if volume.config_map is not None:
            keyed = volume.config_map
            self._set_mode(keyed.default_mode)
            self._add_keys("ConfigMap", keyed.name, keyed.items, keyed.optional)
        elif volume.secret is not None:
            secret = volume.secret
            self._set_mode(secret.default_mode)
            self._add_keys("Secret", secret.secret_name, secret.items, secret.optional)
        elif volume.downward_api is not None:
            self._set_mode(volume.downward_api.default_mode)
            self._add_fields(volume.downward_api.items, self._path)
        elif volume.projected is not None:
            self._set_mode(volume.projected.default_mode)
            for index, source in enumerate(volume.projected.sources):
                self._add_source(source, f"{self._path}.sources[{index}]")
                if source.pod_certificate is not None:
                    place = CertificatePlace(volume.name, index)
                    self._add_certificate(
                        source.pod_certificate, place, f"{self._path}.sources[{index}].podCertificate"
                    )

    def _set_mode(self, mode: int | None) -> None:
        self._mode = DEFAULT_MODE if mode is None else mode

    def _add_source(self, source: VolumeProjection, path: str) -> None:
        if source.config_map is not None:
            self._add_keys("ConfigMap", source.config_map.name, source.config_map.items, source.config_map.optional)
        if source.secret is not None:
            self._add_keys("Secret", source.secret.name, source.secret.items, source.secret.optional)
        if source.downward_api is not None:
            self._add_fields(source.downward_api.items, f"{path}.downwardAPI")
        if source.service_account_token is not None:
            self._add_token(source.service_account_token)
        if source.cluster_trust_bundle is not None:
            self._add_anchors(source.cluster_trust_bundle, f"{path}.clusterTrustBundle")

    # --- objects ----------------------------------------------------------------------------------------------------

    def _add_keys(self, kind: str, name: str | None, items: tuple[KeyToPath, ...], optional: bool | None) -> None:
        data = self._data(kind, name or "", bool(optional))
        if data is None:
            return
        if not items:
            for key, value in data.items():
                self.files[key] = VolumeFile(value, self._mode)
            return
        for item in items:
            if item.key in data:
                self.files[item.path] = VolumeFile(data[item.key], self._mode if item.mode is None else item.mode)
            elif not optional:
                of = (
                    "configmap references non-existent config"
                    if kind == "ConfigMap"
                    else "references non-existent secret"
                )
                self.faults.append(f"{of} key: {item.key}")

    def _data(self, kind: str, name: str, optional: bool) -> Mapping[str, bytes] | None:
        """Key -> value of an object; None when it is missing or unreadable.

        Notes a fault unless it may be missing.
        """
        ref = ObjectRef(kind, self._pod.metadata.namespace, name)
        found = self._answers.objects.get(ref)
        try:
            if isinstance(found, ConfigMap):
                return config_map_bytes(found)
            if found is not None:
                return secret_bytes(found)
        except DocumentError as broken:
            self.faults.append(f'{kind.lower()} "{name}": {broken}')
            return None
        failure = self._answers.failures.get(ref)
        if failure is None or failure.not_found:
            if not optional:
                self.faults.append(f'{kind.lower()} "{name}" not found')
        else:
            self.faults.append(f'{kind.lower()} "{name}" cannot be read: {failure.reason}')
        return None

    # --- the pod itself ---------------------------------------------------------------------------------------------

    def _add_fields(self, items: tuple[DownwardAPIVolumeFile, ...], path: str) -> None:
        for index, item in enumerate(items):
            try:
                text = self._field(item, f"{path}.items[{index}]")
            except (ContainerRefusedError, ValueError) as refused:
                self.faults.append(str(refused))
            else:
                self.files[item.path] = VolumeFile(text.encode(), self._mode if item.mode is None else item.mode)

    def _field(self, item: DownwardAPIVolumeFile, path: str) -> str:
        if item.field_ref is not None:
            return file_field(self._pod, item.field_ref.field_path, f"{path}.fieldRef.fieldPath")
        if item.resource_field_ref is not None:
            selector = item.resource_field_ref
            return resource_value(self._pod, None, selector, f"{path}.resourceFieldRef", self._answers.allocatable)
        return ""

    # --- the token --------------------------------------------------------------------------------------------------

    def _add_token(self, projection: ServiceAccountTokenProjection) -> None:
        want = _token_want(projection)
        token = self._answers.tokens.get(want)
        if token is None:
            self.faults.append(self._answers.refusals.get(want, "failed to fetch token: nobody has answered yet"))
            return
        self._add_private(projection.path, token.encode())

    def _add_private(self, path: str, content: bytes) -> None:
        """A file that only the user of the pod reads, where there is one."""
        owner = fs_user(self._pod)
        context = self._pod.spec.security_context
        private = owner is not None or (context is not None and context.fs_group is not None)
        self.files[path] = VolumeFile(content, PRIVATE_MODE if private else self._mode, owner)

    # --- certificates -----------------------------------------------------------------------------------------------

    def _add_certificate(self, projection: PodCertificateProjection, place: CertificatePlace, path: str) -> None:
        found = self._answers.certificates.get(place)
        if found is None:
            self.faults.append(f"{path}: {self._answers.refusals.get(place, 'nobody has answered yet')}")
            return
        for file, content in (
            (projection.credential_bundle_path, found.key + found.chain),
            (projection.key_path, found.key),
            (projection.certificate_chain_path, found.chain),
        ):
            if file:
                self._add_private(file, content)

    # --- trust anchors ----------------------------------------------------------------------------------------------

    def _add_anchors(self, projection: ClusterTrustBundleProjection, path: str) -> None:
        try:
            want = _trust_want(projection)
        except SelectorError as error:
            self.faults.append(f"{path}.labelSelector: {error}")
            return
        anchors = self._answers.anchors.get(want)
        if anchors is None:
            self.faults.append(f"{path}: {self._answers.refusals.get(want, 'nobody has answered yet')}")
            return
        self._add_private(projection.path, anchors)
