"""When an image is pulled, what is said about it, and when it is tried again (spec 6.1, 6.2).

Pure tables and small values without a clock; what is to be done about one name is worked out once. The worker asks
`judge_image` before each start of a container; only when the answer is PULL it goes to `ImagePullActor`.

A pull that failed is tried again after 10 s, then after twice the time of before, at most 300 s, per pod and image.
Pulls begin no faster than `registryPullQPS`. The real kubelet fails the pull that comes too early, and its pod backs
off for something that nobody did wrong; here it waits for its turn.
"""

from __future__ import annotations

import enum
from functools import lru_cache

import msgspec

from actors.messages.images import ImagePullFailed
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
REASONS_OF_RUNTIME = ("RegistryUnavailable", "SignatureValidationFailed")
"""Reasons that a runtime puts in front of its error (CRI `PullImage`)."""


class Said(msgspec.Struct, frozen=True):
    """An event to record, without what it is about."""

    type: str
    reason: str
    message: str


class ImageAction(enum.Enum):
    """What to do about the image of a container."""

    USE = "it is here"
    PULL = "it must be pulled"
    REFUSE = "the container cannot start"


PULL, REFUSE = ImageAction.PULL, ImageAction.REFUSE


class ImageVerdict(msgspec.Struct, frozen=True):
    """`image` is the full name to ask the runtime for. With REFUSE, `reason` and `message` are the waiting state."""

    action: ImageAction
    image: str
    reason: str = ""
    message: str = ""
    said: Said | None = None


def policy_of(image: str, policy: str | None) -> str:
    """The pull policy, with the default that the API gives (Always for what means the newest)."""
    return policy or (ALWAYS if is_latest(image) else IF_NOT_PRESENT)


def must_look(policy: str) -> bool:
    """Whether the runtime has to be asked for the image first."""
    return policy != ALWAYS


@lru_cache(maxsize=1024)
def judge_image(image: str, policy: str, present: bool) -> ImageVerdict:
    """What to do about `image`, where `present` says that the runtime has it (no matter with policy Always)."""
    try:
        full = with_default_tag(image)
    except InvalidImageNameError as failure:
        text = f'"{image}" is no valid image name: {failure}'
        said = Said("Warning", "InspectFailed", text)
        return ImageVerdict(ImageAction.REFUSE, image, INVALID_IMAGE_NAME, text, said)
    if present and must_look(policy):
        text = f'Container image "{full}" already present on machine and can be accessed by the pod'
        return ImageVerdict(ImageAction.USE, full, said=Said("Normal", "Pulled", text))
    if policy == NEVER:
        text = f'Container image "{full}" is not on this node and its pull policy is Never'
        said = Said("Warning", ERR_IMAGE_NEVER_PULL, text)
        return ImageVerdict(ImageAction.REFUSE, full, ERR_IMAGE_NEVER_PULL, text, said)
    return ImageVerdict(ImageAction.PULL, full)


def inspect_failed(image: str, error: str) -> ImageVerdict:
    """The runtime could not say whether it has the image."""
    text = f'Failed to inspect image "{image}": {error}'
    return ImageVerdict(ImageAction.REFUSE, image, IMAGE_INSPECT_ERROR, text, Said("Warning", "InspectFailed", text))


# --- what is said ---------------------------------------------------------------------------------------------------


def pulling(image: str) -> Said:
    """A pull was asked for."""
    return Said("Normal", "Pulling", f'Pulling image "{image}"')


def pulled(image: str, pull_ns: int, with_waiting_ns: int, size_bytes: int) -> Said:
    """It is here; how long the pull took alone, and since it was asked for."""
    took, waited = (format_duration_ns(ns // 1_000_000 * 1_000_000) for ns in (pull_ns, with_waiting_ns))
    text = (
        f'Successfully pulled image "{image}" in {took} ({waited} including waiting). Image size: {size_bytes} bytes.'
    )
    return Said("Normal", "Pulled", text)


def pull_failed(image: str, reason: str, error: str) -> tuple[Said, Said]:
    """What failed, and the reason that the container's state will show."""
    failed = Said("Warning", "Failed", f'Failed to pull image "{image}": {error}')
    return failed, Said("Warning", "Failed", f"Error: {reason}")


def backing_off(image: str) -> tuple[Said, Said]:
    """It is not tried again yet."""
    said = Said("Normal", "BackOff", f'Back-off pulling image "{image}"')
    return said, Said("Warning", "Failed", f"Error: {IMAGE_PULL_BACK_OFF}")


def back_off_message(image: str, reason: str, error: str) -> str:
    """The message of a container that waits in `ImagePullBackOff`."""
    return f'Back-off pulling image "{image}": {reason}: {error}'


def reason_of(error: str) -> str:
    """The waiting reason for an error of `PullImage`."""
    return next((reason for reason in REASONS_OF_RUNTIME if error.startswith(reason)), ERR_IMAGE_PULL)


def shown_while_backing_off(failed: ImagePullFailed) -> tuple[str, str]:
    """Reason and message of a container from its second look at this failure on, without asking again."""
    if failed.reason in (INVALID_IMAGE_NAME, IMAGE_PULL_BACK_OFF):
        return failed.reason, failed.message
    return IMAGE_PULL_BACK_OFF, back_off_message(failed.image, failed.reason, failed.message)


# --- when -----------------------------------------------------------------------------------------------------------


class BackOff(msgspec.Struct, frozen=True):
    """Failures of one (pod, image): how long to wait now, until when, and the last failure's reason and error."""

    delay_ns: int
    until_ns: int
    reason: str
    error: str


def next_back_off(last: BackOff | None, now_ns: int, reason: str, error: str) -> BackOff:
    """The wait after one more failure. A failure after a long peace counts as the first."""
    if last is None or is_forgotten(last, now_ns):
        delay_ns = FIRST_BACK_OFF_NS
    else:
        delay_ns = min(2 * last.delay_ns, LONGEST_BACK_OFF_NS)
    return BackOff(delay_ns, now_ns + delay_ns, reason, error)


def is_forgotten(back_off: BackOff, now_ns: int) -> bool:
    """Whether the failure is so long ago that it says nothing any more."""
    return now_ns - (back_off.until_ns - back_off.delay_ns) > 2 * LONGEST_BACK_OFF_NS


class Tokens(msgspec.Struct, frozen=True):
    """A bucket of permissions to begin a pull: `count` at `at_ns`, in billionths of one."""

    count: int
    at_ns: int


ONE = 1_000_000_000


class PullRate(msgspec.Struct, frozen=True):
    """At most `burst` at once and `per_second` in the long run; 0 per second is without limit."""

    per_second: int
    burst: int

    def full(self, now_ns: int) -> Tokens:
        """A bucket that nobody has taken from."""
        return Tokens(max(1, self.burst) * ONE, now_ns)

    def take(self, tokens: Tokens, now_ns: int) -> tuple[Tokens, int]:
        """Take one: the bucket afterwards and 0, or the bucket as it is and the ns until there will be one."""
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
    """How metrics call the size of an image (spec 11.7)."""
    if size_bytes <= 0:
        return "N/A"
    return next((name for bound, name in _SIZES if size_bytes < bound), "GT100GB")
