"""Decides when to pull an image, which events to record, and when to retry (spec 6.1, 6.2).

Pure, without a clock.

The worker calls `judge_image` before each container start and asks `ImagePullActor` only if the answer is PULL. The
judgement of a name is cached.

A failed pull is retried after 10 s, then after twice the last delay, at most 300 s, per pod and image. Pulls begin no
faster than `registryPullQPS`. The real kubelet fails a pull that comes too early, and its pod backs off for nothing;
here the pull waits for its turn.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Container, Iterable, Mapping, Set

import msgspec

from actors.images.access_rules import Access
from actors.messages.images import ImagePullFailed
from actors.model.pull_records import PulledRecord, file_name
from config.caches import KIB, kept
from config.credentials.docker_config import full_name
from config.kubelet import KubeletConfiguration
from config.values.durations import format_duration_ns
from config.values.image_names import InvalidImageNameError, is_latest, with_default_tag

SECOND_NS = 1_000_000_000
FIRST_BACK_OFF_NS = 10 * SECOND_NS
LONGEST_BACK_OFF_NS = 300 * SECOND_NS

ALWAYS, IF_NOT_PRESENT, NEVER = "Always", "IfNotPresent", "Never"

INVALID_IMAGE_NAME = "InvalidImageName"
ERR_IMAGE_PULL = "ErrImagePull"
IMAGE_PULL_BACK_OFF = "ImagePullBackOff"
ERR_IMAGE_NEVER_PULL = "ErrImageNeverPull"
IMAGE_INSPECT_ERROR = "ImageInspectError"
_WORDS_OF_RUNTIME = {
    "RegistryUnavailable": "the registry is unavailable",
    "SignatureValidationFailed": "the signature validation failed",
}
"""Reasons that a runtime puts in front of its error (CRI `PullImage`), and what they mean."""
REASONS_OF_RUNTIME = tuple(_WORDS_OF_RUNTIME)


class ImageEvent(msgspec.Struct, frozen=True):
    """An event to record, without its object."""

    type: str
    reason: str
    message: str


class ImageAction(enum.Enum):
    """The decision about the image of a container."""

    USE = "it is here"
    PULL = "it must be pulled"
    REFUSE = "the container cannot start"
    CHECK = "it is here, and the node's records say whether the pod may use it"


UNKNOWN, _SAID = "unknown", ("false", "true")
PULL, REFUSE = ImageAction.PULL, ImageAction.REFUSE


class ImageVerdict(msgspec.Struct, frozen=True):
    """`image` is the full name to ask the runtime for.

    With REFUSE, `reason` and `message` are the waiting state.
    """

    action: ImageAction
    image: str
    reason: str = ""
    message: str = ""
    said: ImageEvent | None = None


def policy_of(image: str, policy: str | None) -> str:
    """The pull policy, with the API's default: Always for the tag `latest`, else IfNotPresent."""
    return policy or (ALWAYS if is_latest(image) else IF_NOT_PRESENT)


def must_look(policy: str) -> bool:
    """Whether the runtime must be asked for the image first."""
    return policy != ALWAYS


@kept(512 * KIB)
def judge_image(image: str, policy: str, present: bool) -> ImageVerdict:
    """Decide whether to pull, use or refuse `image`.

    `present`: the runtime has it (ignored with policy Always).
    """
    try:
        full = with_default_tag(image)
    except InvalidImageNameError as failure:
        text = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {failure}'
        said = ImageEvent("Warning", "InspectFailed", text)
        return ImageVerdict(ImageAction.REFUSE, image, INVALID_IMAGE_NAME, text, said)
    if present and must_look(policy):
        text = f'Container image "{image}" already present on machine and can be accessed by the pod'
        return ImageVerdict(ImageAction.USE, full, said=ImageEvent("Normal", "Pulled", text))
    if policy == NEVER:
        text = f'Container image "{image}" is not present with pull policy of Never'
        said = ImageEvent("Warning", ERR_IMAGE_NEVER_PULL, text)
        return ImageVerdict(ImageAction.REFUSE, full, ERR_IMAGE_NEVER_PULL, text, said)
    return ImageVerdict(ImageAction.PULL, full)


def inspect_failed(image: str, error: str) -> ImageVerdict:
    """The runtime could not say whether it has the image."""
    text = f'Failed to inspect image "{image}": {error}'
    return ImageVerdict(
        ImageAction.REFUSE, image, IMAGE_INSPECT_ERROR, text, ImageEvent("Warning", "InspectFailed", text)
    )


def look_labels(policy: str, verdict: ImageVerdict | None, *, present: bool) -> tuple[str, str, str]:
    """The metric labels of a look, as a kubelet's.

    These are the policy, whether the image is present, and whether it is pulled.

    `verdict` None: the decision failed.
    """
    if verdict is None or verdict.reason == INVALID_IMAGE_NAME:
        return policy.lower(), UNKNOWN, UNKNOWN
    here = _SAID[present] if must_look(policy) else UNKNOWN
    return policy.lower(), here, UNKNOWN if verdict.action is ImageAction.REFUSE else _SAID[verdict.action is PULL]


# --- what is said ---------------------------------------------------------------------------------------------------


def pulling(image: str) -> ImageEvent:
    """A pull was requested."""
    return ImageEvent("Normal", "Pulling", f'Pulling image "{image}"')


def pulled(image: str, pull_ns: int, with_waiting_ns: int, size_bytes: int) -> ImageEvent:
    """The image is here; with the time of the pull alone, and since the request."""
    took, waited = (format_duration_ns(ns // 1_000_000 * 1_000_000) for ns in (pull_ns, with_waiting_ns))
    text = (
        f'Successfully pulled image "{image}" in {took} ({waited} including waiting). Image size: {size_bytes} bytes.'
    )
    return ImageEvent("Normal", "Pulled", text)


def pull_failed(image: str, reason: str, error: str) -> tuple[ImageEvent, ImageEvent]:
    """The events of a failed pull: the error, and the reason that the container's state shows."""
    failed = ImageEvent("Warning", "Failed", f'Failed to pull image "{image}": {error}')
    return failed, ImageEvent("Warning", "Failed", f"Error: {reason}")


def refused(verdict: ImageVerdict) -> tuple[ImageEvent, ...]:
    """The events of a refused image: the error, if any, and the reason in the container's state."""
    last = ImageEvent("Warning", "Failed", f"Error: {verdict.reason}")
    return (last,) if verdict.said is None else (verdict.said, last)


def backing_off(image: str) -> tuple[ImageEvent, ImageEvent]:
    """The pull is not retried yet."""
    said = ImageEvent("Normal", "BackOff", f'Back-off pulling image "{image}"')
    return said, ImageEvent("Warning", "Failed", f"Error: {IMAGE_PULL_BACK_OFF}")


def back_off_message(image: str, reason: str, error: str) -> str:
    """The message of a container that waits in `ImagePullBackOff`."""
    return f'Back-off pulling image "{image}": {reason}: {error}'


def pull_message(image: str, error: str) -> str:
    """The message of a container whose pull has failed; upstream's words for the reasons of the runtime."""
    for reason, words in _WORDS_OF_RUNTIME.items():
        if error.startswith(reason):
            return f"image pull failed for {image} because {words}{error.removeprefix(reason)}"
    return error


def reason_of(error: str) -> str:
    """The waiting reason for an error of `PullImage`."""
    return next((reason for reason in REASONS_OF_RUNTIME if error.startswith(reason)), ERR_IMAGE_PULL)


def shown_while_backing_off(failed: ImagePullFailed) -> tuple[str, str]:
    """Reason and message of a container for this failure, from the second look on.

    No new pull is asked for.
    """
    if failed.reason in (INVALID_IMAGE_NAME, IMAGE_PULL_BACK_OFF, ERR_IMAGE_NEVER_PULL):
        return failed.reason, failed.message
    return IMAGE_PULL_BACK_OFF, back_off_message(failed.image, failed.reason, failed.message)


# --- when -----------------------------------------------------------------------------------------------------------


class BackOff(msgspec.Struct, frozen=True):
    """The back-off of one (pod, image): its delay and end, and the last failure's reason and error."""

    delay_ns: int
    until_ns: int
    reason: str
    error: str


def next_back_off(last: BackOff | None, now_ns: int, reason: str, error: str) -> BackOff:
    """The back-off after one more failure. A failure long after the last one counts as the first."""
    if last is None or is_forgotten(last, now_ns):
        delay_ns = FIRST_BACK_OFF_NS
    else:
        delay_ns = min(2 * last.delay_ns, LONGEST_BACK_OFF_NS)
    return BackOff(delay_ns, now_ns + delay_ns, reason, error)


def is_forgotten(back_off: BackOff, now_ns: int) -> bool:
    """Whether the failure is too old to count."""
    return now_ns - (back_off.until_ns - back_off.delay_ns) > 2 * LONGEST_BACK_OFF_NS


class BackOffs:
    """The back-off of each pod and image. A step costs the same however many there are."""

    def __init__(self) -> None:
        self._of_pod: dict[str, OrderedDict[str, BackOff]] = {}
        """UID -> image -> its back-off, the one of the oldest failure first."""

    def holding(self, uid: str, image: str, now_ns: int) -> BackOff | None:
        """The back-off that forbids a try now, or None."""
        of_pod = self._of_pod.get(uid)
        back_off = None if of_pod is None else of_pod.get(image)
        return back_off if back_off is not None and now_ns < back_off.until_ns else None

    def failed(self, uids: Iterable[str], image: str, now_ns: int, reason: str, error: str) -> dict[str, int]:
        """Note that a try failed for these pods. Returns UID -> when the pod may try again."""
        until: dict[str, int] = {}
        for uid in dict.fromkeys(uids):
            of_pod = self._of_pod.setdefault(uid, OrderedDict())
            of_pod[image] = made = next_back_off(of_pod.get(image), now_ns, reason, error)
            of_pod.move_to_end(image)
            while is_forgotten(next(iter(of_pod.values())), now_ns):
                of_pod.popitem(last=False)
            until[uid] = made.until_ns
        return until

    def succeeded(self, uid: str, image: str) -> None:
        of_pod = self._of_pod.get(uid)
        if of_pod is not None and of_pod.pop(image, None) is not None and not of_pod:
            del self._of_pod[uid]

    def forget(self, uid: str) -> None:
        self._of_pod.pop(uid, None)


class Tokens(msgspec.Struct, frozen=True):
    """A token bucket of permissions to begin a pull: `count` at `at_ns`, in billionths of one."""

    count: int
    at_ns: int


ONE = 1_000_000_000


class PullRate(msgspec.Struct, frozen=True):
    """At most `burst` pulls at once and `per_second` in the long run; 0 per second means no limit."""

    per_second: int
    burst: int

    def full(self, now_ns: int) -> Tokens:
        """A full bucket."""
        return Tokens(max(1, self.burst) * ONE, now_ns)

    def take(self, tokens: Tokens, now_ns: int) -> tuple[Tokens, int]:
        """Take one token: the new bucket and 0, or the refilled bucket and the ns until the next token."""
        if self.per_second <= 0:
            return tokens, 0
        count = min(max(1, self.burst) * ONE, tokens.count + (now_ns - tokens.at_ns) * self.per_second)
        if count >= ONE:
            return Tokens(count - ONE, now_ns), 0
        return Tokens(count, now_ns), -(-(ONE - count) // self.per_second)


_MIB, _GIB = 2**20, 2**30
_SIZES = (
    (10 * _MIB, "0-10MB"),
    (100 * _MIB, "10MB-100MB"),
    (500 * _MIB, "100MB-500MB"),
    (_GIB, "500MB-1GB"),
    (5 * _GIB, "1GB-5GB"),
    (10 * _GIB, "5GB-10GB"),
    (20 * _GIB, "10GB-20GB"),
    (30 * _GIB, "20GB-30GB"),
    (40 * _GIB, "30GB-40GB"),
    (60 * _GIB, "40GB-60GB"),
    (100 * _GIB, "60GB-100GB"),
)


def size_range(size_bytes: int) -> str:
    """The metric label for the size of an image (spec 11.7)."""
    if size_bytes <= 0:
        return "N/A"
    return next((name for bound, name in _SIZES if size_bytes < bound), "GT100GB")


# --- what is here ---------------------------------------------------------------------------------------------------


NEVER_VERIFY = "NeverVerify"
PRELOADED, ALLOWLISTED, ALWAYS_VERIFY = "NeverVerifyPreloadedImages", "NeverVerifyAllowlistedImages", "AlwaysVerify"


class AccessPolicy(msgspec.Struct, frozen=True):
    """`imagePullCredentialsVerificationPolicy`, and the images that its list excepts.

    `policy` empty: no records.
    """

    policy: str = ""
    allowlist: tuple[str, ...] = ()

    @property
    def keeps_records(self) -> bool:
        return bool(self.policy)

    @property
    def ever_verifies(self) -> bool:
        """Whether there is any image for which a pod may have to show credentials again."""
        return self.policy not in ("", NEVER_VERIFY)

    def verifies(self, image: str, *, pulled_by_node: bool) -> bool:
        """Whether the records must open the image to the pod. `pulled_by_node`: it has a record or an intent."""
        if self.policy == PRELOADED:
            return pulled_by_node
        if self.policy == ALLOWLISTED:
            return not self._is_allowed(full_name(image))
        return self.policy == ALWAYS_VERIFY

    def _is_allowed(self, name: str) -> bool:
        return any(
            name.startswith(pattern[:-1]) if pattern.endswith("/*") else name == pattern for pattern in self.allowlist
        )


def access_policy(configuration: KubeletConfiguration) -> AccessPolicy:
    return AccessPolicy(
        configuration.image_pull_credentials_verification_policy, configuration.preloaded_images_verification_allowlist
    )


class KnownPulls(msgspec.Struct):
    """The pull records that the node knows.

    `intents`: images; `records`: by reference; `unreadable`: names of files.

    The `PullBook` changes it, and pod workers read it on their threads: each value that they read is whole.
    """

    policy: AccessPolicy
    is_loaded: bool
    intents: Container[str]
    records: Mapping[str, PulledRecord]
    unreadable: Set[str]


def open_to_all(known: KnownPulls, image: str, image_ref: str) -> Access | None:
    """Why every pod may use an image that is here; None: its credentials count.

    `image` has a tag or a digest.

    Pod workers ask this themselves, so that most starts need no question to the actor.
    """
    if not known.policy.ever_verifies:
        return Access.BY_POLICY
    if not known.is_loaded:
        return None
    record = known.records.get(image_ref)
    pulled_by_node = record is not None or image in known.intents or is_unreadable(known, image_ref)
    if not known.policy.verifies(image, pulled_by_node=pulled_by_node):
        return Access.BY_POLICY
    grants = None if record is None else record.credential_mapping.get(full_name(image))
    return Access.BY_RECORD if grants is not None and grants.node_pods_accessible else None


def is_unreadable(known: KnownPulls, image_ref: str) -> bool:
    """Whether the image has a record that cannot be read."""
    return bool(known.unreadable) and file_name(image_ref) in known.unreadable
