"""A worker's questions to the caches: objects its pod refers to, services, node, RuntimeClass.

Each question is a message. Until the answer, the container that needs it counts as busy; the answer begins a pass. Each
container uses an answer once and soon, so a restarted container sees current objects. The worker asks for the needs of
its first containers together with the volumes, unless the answer came with the pod.

A pod that needs nothing asks nothing. A question without an answer is repeated after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from actors.kernel import Actor, handles
from actors.messages.images import SecretCredential
from actors.messages.references import (
    HoldObjects,
    ObjectRef,
    ObjectsChanged,
    ObjectsRead,
    PodInputs,
    PodInputsRead,
    ReadObjects,
    ReadPodInputs,
    ReadRuntimeClass,
    ReleaseObjects,
    RuntimeClassRead,
)
from actors.model.observing import SECRET_DIGEST
from actors.model.pull_records import PullSecret, credential_hash
from actors.model.refusal import ContainerRefusedError
from actors.pod.pod_actor import Pass, PodActor
from actors.pod.services import PodServices
from actors.pod.view import PodView, Question
from actors.start.environment import (
    SECRET,
    Data,
    NeededObject,
    Outline,
    Sources,
    environment_objects,
    pull_secrets,
    references,
    shows_amounts,
    uses_tokens,
)
from config.api.secret_data import secret_bytes
from config.credentials.docker_config import Credential, DockerConfigError, Entries, credentials_for, read_secret
from config.documents.codec import DocumentError
from config.frozen_map import FrozenMap
from config.objects import ConfigMap, Container, Pod, Secret
from config.pods.identity import is_static

SECOND_NS = 1_000_000_000
GOOD_FOR_NS = 10 * SECOND_NS
"""For how long other containers may use an answer."""
SANDBOX = ""
"""Stands for the RuntimeClass among container names."""
_THE_SANDBOX = frozenset({SANDBOX})

Answer = TypeVar("Answer", ObjectsRead, PodInputsRead, RuntimeClassRead)
Made = TypeVar("Made")
Cached = ConfigMap | Secret
_NOBODY: frozenset[str] = frozenset()
_NOTHING = ObjectsRead(None, FrozenMap(), FrozenMap())
_NOWHERE = PodInputsRead(None, FrozenMap(), FrozenMap(), True)


class ReferenceTag(msgspec.Struct, frozen=True, gc=False):
    """Which question an answer belongs to."""

    what: str
    number: int


class _Asked(Generic[Answer]):
    """One kind of question, its newest answer, and which users have taken it."""

    __slots__ = ("_answer", "_ask", "_at_ns", "_question", "_tag", "_used", "_worker", "waiters")

    def __init__(self, worker: Actor, what: str, ask: Callable[[Pod, ReferenceTag], None]) -> None:
        self._worker = worker
        self._ask = ask
        self._question = Question(worker, what)
        self._tag = ReferenceTag(what, 0)
        self._answer: Answer | None = None
        self._at_ns = 0
        self._used: Set[str] = _NOBODY
        self.waiters: Set[str] = _NOBODY
        """Users that wait for an answer; the question may be due again."""

    def has_for(self, pod: Pod, user: str) -> bool:
        """Whether there is an answer for `user`. If not, ask, and note that `user` waits."""
        if self.is_fresh() and user not in self._used:
            return True
        self.waiters = _with(self.waiters, user)
        self.ask(pod)
        return False

    def is_fresh(self) -> bool:
        """Whether the answer may still be used."""
        return self._answer is not None and self._worker.now_ns() - self._at_ns < GOOD_FOR_NS

    def ask(self, pod: Pod) -> None:
        """Ask, unless an answer is on its way."""
        if self._question.may_ask():
            self._tag = ReferenceTag(self._tag.what, self._tag.number + 1)
            self._ask(pod, self._tag)

    def take(self, user: str) -> Answer:
        """The answer, after `has_for` has returned True."""
        assert self._answer is not None, "whoever takes has looked before"
        self._used = _with(self._used, user)
        if isinstance(self.waiters, set):
            self.waiters.discard(user)
            self.waiters = self.waiters or _NOBODY
        return self._answer

    def answered(self, answer: Answer) -> bool:
        """Store an answer; returns whether anybody waits for it."""
        if answer.tag != self._tag:
            return False
        self._question.answered()
        self._answer, self._at_ns = answer, self._worker.now_ns()
        waited = bool(self.waiters)
        self._used = self.waiters = _NOBODY
        return waited

    def told(self, answer: Answer) -> None:
        """Store an answer that came without a question."""
        self._answer, self._at_ns = answer, self._worker.now_ns()
        self._used = _NOBODY

    def waiting(self) -> Set[str]:
        """Users that wait for an answer on its way."""
        return _NOBODY if self._question.is_due() else self.waiters

    def forget(self) -> None:
        """The pod has a new form: drop the answers to questions about the old one."""
        self._question.answered()
        self._tag = ReferenceTag(self._tag.what, self._tag.number + 1)
        self._answer = None
        self.waiters = _NOBODY

    def drop(self) -> None:
        """Drop an answer that nobody will use: it may hold secrets."""
        self._answer, self._used = None, _NOBODY


def _with(users: Set[str], user: str) -> Set[str]:
    """A set that has the user too. It is changed in place: a pod may have thousands of containers."""
    if isinstance(users, set):
        users.add(user)
        return users
    return {user}


class _OncePerAnswer(Generic[Made]):
    """What is made of an answer, once for all containers that use the answer."""

    __slots__ = ("_answer", "_made")

    def __init__(self) -> None:
        self._answer: ObjectsRead | None = None
        self._made: Made | None = None

    def of(self, answer: ObjectsRead, make: Callable[[], Made]) -> Made:
        if self._made is None or self._answer is not answer:
            self._made = make()
            self._answer = answer
        return self._made

    def drop(self) -> None:
        """Forget it: it may hold secrets."""
        self._answer = self._made = None


class PullCredentials(msgspec.Struct, frozen=True):
    """The credentials of the pod's secrets for one image, in the order of trying; and the secret of each."""

    credentials: tuple[Credential, ...] = ()
    secrets: tuple[SecretCredential, ...] = ()


class PodReferences:
    def __init__(self, worker: PodActor, services: PodServices, view: PodView) -> None:
        self._worker = worker
        self._services = services
        self._view = view
        self._objects: _Asked[ObjectsRead] = _Asked(worker, "objects", self._ask_for_objects)
        self._secrets: _Asked[ObjectsRead] = _Asked(worker, "pull secrets", self._ask_for_secrets)
        self._around: _Asked[PodInputsRead] = _Asked(worker, "pod_inputs", self._ask_for_pod_inputs)
        self._class: _Asked[RuntimeClassRead] = _Asked(worker, "runtime class", self._ask_for_class)
        self._held: tuple[NeededObject, ...] = ()
        self._said: tuple[str, ...] = ()
        self._given: _OncePerAnswer[_Given] = _OncePerAnswer()
        self._entries: _OncePerAnswer[_EntriesAndMissing] = _OncePerAnswer()

    # --- the pod's coming and going ---------------------------------------------------------------------------------

    def pod_desired(self, pod: Pod) -> None:
        """Tell the cache what the pod refers to, if that is new."""
        held = references(pod)
        if held != self._held:
            self._held = held
            self._objects.forget()
            self._secrets.forget()
            self._services.objects.tell(HoldObjects(pod))

    def announce(self) -> None:
        """Tell the cache again; it may have forgotten."""
        if self._held and self._view.pod is not None:
            self._services.objects.tell(HoldObjects(self._view.pod))

    def release(self) -> None:
        """The pod has ended: release its references."""
        pod = self._view.pod
        if pod is None:
            return
        if references(pod):
            self._services.objects.tell(ReleaseObjects(self._view.uid))
        if uses_tokens(pod):
            self._services.tokens.tell(ReleaseObjects(self._view.uid))
        self._held = ()

    # --- asking -----------------------------------------------------------------------------------------------------

    def ask_ahead(self, pod: Pod) -> None:
        """Ask for what the first containers will need."""
        if environment_objects(pod):
            self._objects.ask(pod)
        if (self._services.has_cluster or shows_amounts(pod)) and not self._around.is_fresh():
            self._around.ask(pod)
        if pod.spec.runtime_class_name:
            self._class.ask(pod)

    def around_told(self, pod: Pod, around: PodInputs) -> None:
        """The pod_inputs came with the pod. If the pod needs nothing else, no question is necessary."""
        if around.allocatable is not None or not shows_amounts(pod):
            variables = around.variables_of(pod.metadata.namespace, _has_links(pod))
            self._around.told(PodInputsRead(None, variables, around.allocatable or FrozenMap(), synced=True))

    def rest(self) -> None:
        """Drop the answers: no container starts now."""
        for each in self._questions():
            each.drop()
        self._given.drop()
        self._entries.drop()

    def waiting(self) -> frozenset[str]:
        """Names of containers that wait for an answer."""
        every = _NOBODY
        for each in self._questions():
            if each.waiters:
                every = every.union(each.waiting())
        return every - _THE_SANDBOX if every else every

    def _questions(self) -> tuple[_Asked[Any], ...]:
        return (self._objects, self._secrets, self._around, self._class)

    def _ask_for_objects(self, pod: Pod, tag: ReferenceTag) -> None:
        self._read(environment_objects(pod), tag)

    def _ask_for_secrets(self, pod: Pod, tag: ReferenceTag) -> None:
        self._read(pull_secrets(pod), tag)

    def _read(self, refs: tuple[ObjectRef, ...], tag: ReferenceTag) -> None:
        self._services.objects.tell(ReadObjects(self._worker.ref, tag, refs, self._view.uid))

    def _ask_for_pod_inputs(self, pod: Pod, tag: ReferenceTag) -> None:
        question = ReadPodInputs(
            self._worker.ref, tag, pod.metadata.namespace, _has_links(pod), not is_static(pod), shows_amounts(pod)
        )
        self._services.cluster.tell(question)

    def _ask_for_class(self, pod: Pod, tag: ReferenceTag) -> None:
        name = pod.spec.runtime_class_name or ""
        self._services.cluster.tell(ReadRuntimeClass(self._worker.ref, tag, name))

    # --- answers ----------------------------------------------------------------------------------------------------

    @handles(ObjectsRead)
    def objects_read(self, message: ObjectsRead) -> Pass | None:
        return self._go_on_if(self._objects.answered(message) or self._secrets.answered(message))

    @handles(PodInputsRead)
    def pod_inputs_read(self, message: PodInputsRead) -> Pass | None:
        return self._go_on_if(self._around.answered(message))

    @handles(RuntimeClassRead)
    def runtime_class_read(self, message: RuntimeClassRead) -> Pass | None:
        return self._go_on_if(self._class.answered(message))

    @handles(ObjectsChanged)
    def objects_changed(self, _: ObjectsChanged) -> Pass | None:
        """An object that a container waits for may exist now."""
        return self._worker.go_on()

    def _go_on_if(self, waited: bool) -> Pass | None:
        return self._worker.go_on() if waited else None

    # --- what is needed ---------------------------------------------------------------------------------------------

    def sources_for(self, pod: Pod, container: Container, outline: Outline, pod_ips: tuple[str, ...]) -> Sources | None:
        """The sources of `container`'s variables, except files, and the addresses; None: wait. Raises
        ContainerRefusedError.
        """
        objects = outline.reads_objects
        around = self._services.has_cluster or outline.shows_amounts
        # Ask both questions before waiting for either.
        has_objects = not objects or self._objects.has_for(pod, container.name)
        has_around = not around or self._around.has_for(pod, container.name)
        if not (has_objects and has_around):
            return None
        read = self._objects.take(container.name) if objects else _NOTHING
        pod_inputs = self._around.take(container.name) if around else _NOWHERE
        if not pod_inputs.synced and not is_static(pod):
            text = "services have not yet been read at least once, cannot construct envvars"
            raise ContainerRefusedError("$.spec.enableServiceLinks", text)
        return _sources(
            self._given.of(read, lambda: _given_by(read)), pod_inputs, pod_ips, self._services.node.host_ips
        )

    def credentials_for(self, pod: Pod, user: str, image: str) -> PullCredentials | None:
        """The credentials in the pod's secrets for the image that `user` needs; None: wait.

        A secret that cannot be read causes an event and is left out: the pull may succeed without it.
        """
        if not pod.spec.image_pull_secrets:
            return PullCredentials()
        if not self._secrets.has_for(pod, user):
            return None
        read = self._secrets.take(user)
        entries, missing = self._entries.of(read, lambda: _entries_of(pull_secrets(pod), read))
        if missing and missing != self._said:
            text = f"Unable to retrieve some image pull secrets ({', '.join(missing)})"
            hint = "attempting to pull the image may not succeed."
            self._view.say("Warning", "FailedToRetrieveImagePullSecret", f"{text}; {hint}")
        self._said = missing
        every = tuple(entry for _, of_secret in entries for entry in of_secret)
        whose = tuple(
            SecretCredential(each, self._pull_secret(secret, each))
            for secret, of_secret in entries
            for each in credentials_for(image, of_secret)
        )
        return PullCredentials(credentials_for(image, every), whose)

    def _pull_secret(self, secret: Secret, credential: Credential) -> PullSecret:
        meta = secret.metadata
        told: str = self._view.observe(SECRET_DIGEST, lambda: credential_hash(credential))
        return PullSecret(meta.uid, meta.namespace, meta.name, told)

    def runtime_handler(self, pod: Pod) -> str | None:
        """The handler that is to make the sandbox; None: wait. Raises ContainerRefusedError."""
        if not pod.spec.runtime_class_name:
            return ""
        if not self._class.has_for(pod, SANDBOX):
            return None
        read = self._class.take(SANDBOX)
        if read.error:
            raise ContainerRefusedError("$.spec.runtimeClassName", read.error)
        return read.handler


def _has_links(pod: Pod) -> bool:
    """Whether its variables name the services of its own namespace."""
    return pod.spec.enable_service_links is not False


class _Given(msgspec.Struct, frozen=True):
    """What an answer gives to variables. See `Sources`."""

    config_maps: Mapping[str, Data]
    secrets: Mapping[str, Data]
    failures: Mapping[tuple[str, str], str]


def _given_by(read: ObjectsRead) -> _Given:
    config_maps: dict[str, Data] = {}
    secrets: dict[str, Data] = {}
    failures = {(ref.kind, ref.name): each.reason for ref, each in read.failures.items() if not each.not_found}
    for ref, value in read.objects.items():
        if isinstance(value, ConfigMap):
            config_maps[ref.name] = value.data
            continue
        try:
            data = secret_bytes(value)
        except DocumentError as fault:
            failures[SECRET, ref.name] = f"couldn't read {ref}: {fault}"
        else:
            secrets[ref.name] = {key: each.decode("utf-8", "surrogateescape") for key, each in data.items()}
    return _Given(config_maps, secrets, failures)


def _sources(given: _Given, around: PodInputsRead, pod_ips: tuple[str, ...], host_ips: tuple[str, ...]) -> Sources:
    return Sources(
        config_maps=given.config_maps,
        secrets=given.secrets,
        failures=given.failures,
        services=around.services,
        allocatable=around.allocatable,
        pod_ips=pod_ips,
        host_ips=host_ips,
    )


_EntriesAndMissing: TypeAlias = tuple[list[tuple[Secret, Entries]], tuple[str, ...]]


def _entries_of(refs: tuple[ObjectRef, ...], read: ObjectsRead) -> _EntriesAndMissing:
    """Each secret with its credentials, in order; and the names of secrets that yield none."""
    entries: list[tuple[Secret, Entries]] = []
    missing = []
    for ref in refs:
        secret = read.objects.get(ref)
        try:
            if isinstance(secret, Secret):
                entries.append((secret, read_secret(secret.type or "", secret_bytes(secret))))
            else:
                missing.append(ref.name)
        except (DocumentError, DockerConfigError):
            missing.append(ref.name)
    return entries, tuple(missing)
