"""The files of configMap, secret, downwardAPI and projected volumes (spec 8.7, 13.3). Pure.

`wants.py` lists what to ask for a pod, `PodContents` turns the answers into files. A volume that lacks something that
is not optional is refused as a whole, with its errors. So is one that would make the pod's content too large
(`content_sizes.py`). The other volumes of the pod are unaffected.
In a projected volume a later source wins over an earlier one that writes the same path.

A pod may show one value under thousands of paths. Each value is read, formatted and quoted once for all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Iterator, Mapping

import msgspec

from actors.messages.references import CertificatePlace, CredentialBundle, ObjectRef, ReadFailure, TrustWant
from actors.model.refusal import ContainerRefusedError
from actors.start.pod_fields import file_field, resource_value
from actors.volumes.problems import joined
from actors.volumes.wishes.content_sizes import ContentSizes, ContentTooLargeError
from actors.volumes.wishes.wants import TokenWant, config_volumes, token_want, trust_want
from config.api.secret_data import config_map_bytes, secret_bytes
from config.api.selectors import SelectorError
from config.documents.codec import DocumentError
from config.flags.command_line import POD_VOLUME_CONTENT_BYTES
from config.objects import (
    ClusterTrustBundleProjection,
    ConfigMap,
    DownwardAPIVolumeFile,
    KeyToPath,
    Pod,
    PodCertificateProjection,
    PodSpec,
    Secret,
    ServiceAccountTokenProjection,
    Volume,
    VolumeProjection,
)
from config.pods.defaults import DEFAULT_MODE
from config.pods.once_per_spec import once_per_spec
from runtime.volumes.capability import Contents, Payload, VolumeFile
from runtime.volumes.pod_volumes import field_path_of

PRIVATE_MODE = 0o600
"""The mode of tokens, certificates and trust anchors with an owner or a group.

fsGroup handling adds the group.
"""

ITEMS_AT_ONCE = 256
"""Files of a volume that are made in one go, before others get a turn."""

_NO_AMOUNTS: Mapping[str, str] = {}


class Answers(msgspec.Struct, frozen=True):
    """The answers to `Wants`. `refusals`: why there is no token, certificate or trust anchor.
    `allocatable`: of the node, by resource. `omitted`: tokens whose files are left out for now.
    """

    objects: Mapping[ObjectRef, ConfigMap | Secret] = {}
    failures: Mapping[ObjectRef, ReadFailure] = {}
    tokens: Mapping[TokenWant, str] = {}
    refusals: Mapping[TokenWant | TrustWant | CertificatePlace, str] = {}
    allocatable: Mapping[str, str] = _NO_AMOUNTS
    anchors: Mapping[TrustWant, bytes] = {}
    certificates: Mapping[CertificatePlace, CredentialBundle] = {}
    omitted: frozenset[TokenWant] = frozenset()


class VolumeContent(msgspec.Struct, frozen=True):
    """The files of one volume, or why it is refused."""

    files: Payload | None
    refusal: str = ""


def contents_of(pod: Pod, answers: Answers, limit_bytes: int = POD_VOLUME_CONTENT_BYTES) -> Contents:
    """The files of every volume that the agent fills, or why it is refused."""
    made = PodContents(pod, answers, limit_bytes)
    payloads: dict[str, Payload] = {}
    refusals: dict[str, str] = {}
    for name in made.names():
        content = finished(made.fill(name))
        if content.files is None:
            refusals[name] = content.refusal
        else:
            payloads[name] = content.files
    return Contents(payloads, refusals)


def finished(filling: Filling) -> VolumeContent:
    """The content, all slices at once."""
    while True:
        try:
            next(filling)
        except StopIteration as done:
            content: VolumeContent = done.value
            return content


def fs_user(pod: Pod) -> int | None:
    """The user that owns the tokens: the one that all containers are set to run as, or None."""
    return _fs_user(pod.spec)


@once_per_spec
def _fs_user(spec: PodSpec) -> int | None:
    of_pod = spec.security_context.run_as_user if spec.security_context is not None else None
    found: set[int | None] = set()
    for container in (*spec.init_containers, *spec.containers):
        context = container.security_context
        own = context.run_as_user if context is not None else None
        found.add(of_pod if own is None else own)
    return found.pop() if len(found) == 1 else None


Filling = Generator[None, None, VolumeContent]
"""Makes the content of a volume in slices of `ITEMS_AT_ONCE`, with a pause after each."""


class PodContents:
    """The contents of a pod's volumes, made one after the other. `limit_bytes`: of all together."""

    def __init__(self, pod: Pod, answers: Answers, limit_bytes: int = POD_VOLUME_CONTENT_BYTES) -> None:
        self._values = _Values(pod, answers)
        self._sizes = ContentSizes(limit_bytes)
        self._paths = {volume.name: (volume, field_path_of(index, volume)) for index, volume in config_volumes(pod)}

    def names(self) -> Collection[str]:
        """The volumes that the agent fills, in the order of the pod."""
        return self._paths.keys()

    def fill(self, name: str) -> Filling:
        """The content of a volume. Volumes count in the order in which they are filled."""
        volume, path = self._paths[name]
        self._sizes.begin_volume()
        filling = _Filling(self._values, self._sizes, path)
        try:
            yield from filling.fill(volume)
        except ContentTooLargeError as refusal:
            filling.faults = [str(refusal)]
        if not filling.faults:
            return VolumeContent(filling.files)
        self._sizes.drop_volume()
        return VolumeContent(None, filling.reason())


class _Values:
    """The values that the files of a pod show, each made once."""

    def __init__(self, pod: Pod, answers: Answers) -> None:
        self.pod = pod
        self.answers = answers
        self._fields: dict[Hashable, bytes] = {}
        self._data: dict[ObjectRef, Mapping[str, bytes]] = {}

    def field(self, item: DownwardAPIVolumeFile, path: str) -> bytes:
        """The value of a downwardAPI item at `path`. Raises ContainerRefusedError, ValueError."""
        key = (item.field_ref, item.resource_field_ref)
        if key not in self._fields:
            self._fields[key] = self._field(item, path).encode()
        return self._fields[key]

    def _field(self, item: DownwardAPIVolumeFile, path: str) -> str:
        if item.field_ref is not None:
            return file_field(self.pod, item.field_ref.field_path, f"{path}.fieldRef.fieldPath")
        if item.resource_field_ref is not None:
            selector, amounts = item.resource_field_ref, self.answers.allocatable
            return resource_value(self.pod, None, selector, f"{path}.resourceFieldRef", amounts)
        return ""

    def data(self, ref: ObjectRef) -> Mapping[str, bytes] | None:
        """Key -> value of an object; None when it was not read. Raises DocumentError."""
        found = self.answers.objects.get(ref)
        if found is not None and ref not in self._data:
            self._data[ref] = config_map_bytes(found) if isinstance(found, ConfigMap) else secret_bytes(found)
        return self._data.get(ref)


class _Filling:
    """Collects the files and the faults of one volume. `path`: the field path of its source."""

    def __init__(self, values: _Values, sizes: ContentSizes, path: str) -> None:
        self.files: dict[str, VolumeFile] = {}
        self.faults: list[str] = []
        self._values = values
        self._pod = values.pod
        self._answers = values.answers
        self._sizes = sizes
        self._path = path
        self._mode = DEFAULT_MODE

    def reason(self) -> str:
        return self.faults[0] if len(self.faults) == 1 else f"[{joined(self.faults, ', ')}]"

    def fill(self, volume: Volume) -> Iterator[None]:
        if volume.config_map is not None:
            keyed = volume.config_map
            self._set_mode(keyed.default_mode)
            yield from self._add_keys("ConfigMap", keyed.name, keyed.items, keyed.optional, self._path)
        elif volume.secret is not None:
            secret = volume.secret
            self._set_mode(secret.default_mode)
            yield from self._add_keys("Secret", secret.secret_name, secret.items, secret.optional, self._path)
        elif volume.downward_api is not None:
            self._set_mode(volume.downward_api.default_mode)
            yield from self._add_fields(volume.downward_api.items, self._path)
        elif volume.projected is not None:
            self._set_mode(volume.projected.default_mode)
            for index, source in enumerate(volume.projected.sources):
                path = f"{self._path}.sources[{index}]"
                yield from self._add_source(source, path)
                if source.pod_certificate is not None:
                    place = CertificatePlace(volume.name, index)
                    self._add_certificate(source.pod_certificate, place, f"{path}.podCertificate")
                if index % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1:
                    yield

    def _add(self, path: str, data: bytes, mode: int, where: str, uid: int | None = None) -> None:
        self._sizes.add(path, len(data), where)
        self.files[path] = VolumeFile(data, mode, uid)

    def _set_mode(self, mode: int | None) -> None:
        self._mode = DEFAULT_MODE if mode is None else mode

    def _add_source(self, source: VolumeProjection, path: str) -> Iterator[None]:
        if source.config_map is not None:
            keyed = source.config_map
            yield from self._add_keys("ConfigMap", keyed.name, keyed.items, keyed.optional, f"{path}.configMap")
        if source.secret is not None:
            secret = source.secret
            yield from self._add_keys("Secret", secret.name, secret.items, secret.optional, f"{path}.secret")
        if source.downward_api is not None:
            yield from self._add_fields(source.downward_api.items, f"{path}.downwardAPI")
        if source.service_account_token is not None:
            self._add_token(source.service_account_token, f"{path}.serviceAccountToken")
        if source.cluster_trust_bundle is not None:
            self._add_anchors(source.cluster_trust_bundle, f"{path}.clusterTrustBundle")

    # --- objects ----------------------------------------------------------------------------------------------------

    def _add_keys(
        self, kind: str, name: str | None, items: tuple[KeyToPath, ...], optional: bool | None, path: str
    ) -> Iterator[None]:
        data = self._data(kind, name or "", bool(optional))
        if data is None:
            return
        if not items:
            for number, (key, value) in enumerate(data.items()):
                self._add(key, value, self._mode, path)
                if number % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1:
                    yield
            return
        for index, item in enumerate(items):
            if item.key in data:
                mode = self._mode if item.mode is None else item.mode
                self._add(item.path, data[item.key], mode, f"{path}.items[{index}]")
            elif not optional:
                of = (
                    "configmap references non-existent config"
                    if kind == "ConfigMap"
                    else "references non-existent secret"
                )
                self.faults.append(f"{of} key: {item.key}")
            if index % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1:
                yield

    def _data(self, kind: str, name: str, optional: bool) -> Mapping[str, bytes] | None:
        """Key -> value of an object; None when it is missing or unreadable.

        Notes a fault unless it may be missing.
        """
        ref = ObjectRef(kind, self._pod.metadata.namespace, name)
        try:
            data = self._values.data(ref)
        except DocumentError as broken:
            self.faults.append(f'{kind.lower()} "{name}": {broken}')
            return None
        if data is not None:
            return data
        failure = self._answers.failures.get(ref)
        if failure is None or failure.not_found:
            if not optional:
                self.faults.append(f'{kind.lower()} "{name}" not found')
        else:
            self.faults.append(f'{kind.lower()} "{name}" cannot be read: {failure.reason}')
        return None

    # --- the pod itself ---------------------------------------------------------------------------------------------

    def _add_fields(self, items: tuple[DownwardAPIVolumeFile, ...], path: str) -> Iterator[None]:
        for index, item in enumerate(items):
            at = f"{path}.items[{index}]"
            try:
                value = self._values.field(item, at)
            except (ContainerRefusedError, ValueError) as refused:
                self.faults.append(str(refused))
            else:
                self._add(item.path, value, self._mode if item.mode is None else item.mode, at)
            if index % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1:
                yield

    # --- the token --------------------------------------------------------------------------------------------------

    def _add_token(self, projection: ServiceAccountTokenProjection, path: str) -> None:
        want = token_want(projection)
        token = self._answers.tokens.get(want)
        if token is None and want in self._answers.omitted:
            return
        if token is None:
            self.faults.append(self._answers.refusals.get(want, "failed to fetch token: nobody has answered yet"))
            return
        self._add_private(projection.path, token.encode(), path)

    def _add_private(self, path: str, content: bytes, where: str) -> None:
        """A file that only the user of the pod reads, where there is one."""
        owner = fs_user(self._pod)
        context = self._pod.spec.security_context
        private = owner is not None or (context is not None and context.fs_group is not None)
        self._add(path, content, PRIVATE_MODE if private else self._mode, where, owner)

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
                self._add_private(file, content, path)

    # --- trust anchors ----------------------------------------------------------------------------------------------

    def _add_anchors(self, projection: ClusterTrustBundleProjection, path: str) -> None:
        try:
            want = trust_want(projection)
        except SelectorError as error:
            self.faults.append(f"{path}.labelSelector: {error}")
            return
        anchors = self._answers.anchors.get(want)
        if anchors is None:
            self.faults.append(f"{path}: {self._answers.refusals.get(want, 'nobody has answered yet')}")
            return
        self._add_private(projection.path, anchors, path)
