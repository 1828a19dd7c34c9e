"""Names of images, the table of pull policies, back-off and rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.images.pull_rules import (
    ONE,
    BackOff,
    ImageAction,
    PullRate,
    back_off_message,
    judge_image,
    look_labels,
    must_look,
    next_back_off,
    policy_of,
    pulled,
    reason_of,
    shown_while_backing_off,
)
from actors.messages.images import ImagePullFailed
from config.values.image_names import InvalidImageNameError, is_latest, with_default_tag

SECOND_NS = 1_000_000_000
HEX = "0123456789abcdef" * 4
FORMAT = "invalid reference format"
USE, PULL, REFUSE = ImageAction.USE, ImageAction.PULL, ImageAction.REFUSE


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.27", "nginx:1.27"),
        ("library/nginx", "library/nginx:latest"),
        ("localhost/x", "localhost/x:latest"),
        ("localhost:5000/x", "localhost:5000/x:latest"),
        ("registry.example.com:5000/a/b-c/d__e.f:v1", "registry.example.com:5000/a/b-c/d__e.f:v1"),
        ("[::1]:5000/x", "[::1]:5000/x:latest"),
        ("Example/x", "Example/x:latest"),
        (f"nginx@sha256:{HEX}", f"nginx@sha256:{HEX}"),
        (f"nginx:1@sha256:{HEX}", f"nginx:1@sha256:{HEX}"),
        (f"nginx@sha512:{HEX}{HEX}", f"nginx@sha512:{HEX}{HEX}"),
    ],
)
# (spec 6.1.1)
def test_a_name_without_tag_and_digest_means_latest(image: str, full: str):
    assert with_default_tag(image) == full


@pytest.mark.parametrize(
    ("image", "words"),
    [
        ("", FORMAT),
        ("Nginx", f"{FORMAT}: repository name (library/Nginx) must be lowercase"),
        ("UPPER!!:x", f"{FORMAT}: repository name (library/UPPER!!) must be lowercase"),
        ("a/B", f"{FORMAT}: repository name (a/B) must be lowercase"),
        ("nginx:", FORMAT),
        ("nginx:-1", FORMAT),
        ("nginx:" + "x" * 129, FORMAT),
        ("nginx@sha256:12", FORMAT),
        (f"nginx@sha256:{HEX}0", "invalid checksum digest length"),
        (f"nginx@sha512:{HEX}", "invalid checksum digest length"),
        (f"nginx:1@sha256:{HEX.upper()}", "invalid checksum digest format"),
        (f"nginx@md5:{HEX}", "unsupported digest algorithm"),
        ("nginx@", FORMAT),
        ("a//b", FORMAT),
        ("/a", FORMAT),
        ("a_-b", FORMAT),
        ("-x.io/a", FORMAT),
        ("white space", FORMAT),
        (HEX, f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings"),
        ("a" * 248, "repository name must not be more than 255 characters"),
        ("x.io/" + "a" * 256, "repository name must not be more than 255 characters"),
    ],
)
# (spec 6.1.1)
def test_an_unpullable_name_is_refused_with_the_kubelets_message(image: str, words: str):
    with pytest.raises(InvalidImageNameError) as caught:
        with_default_tag(image)
    assert str(caught.value) == words


@pytest.mark.parametrize("image", ["a" * 247, "x.io/" + "a" * 255])
def test_a_name_may_be_that_long(image: str):
    assert with_default_tag(image) == f"{image}:latest"


@given(st.text(max_size=40))
def test_any_text_is_a_name_or_is_refused(text: str):
    try:
        full = with_default_tag(text)
    except InvalidImageNameError:
        return
    assert with_default_tag(full) == full


@pytest.mark.parametrize(
    ("image", "policy", "expected"),
    [
        ("nginx", None, "Always"),
        ("nginx:latest", None, "Always"),
        ("nginx:1", None, "IfNotPresent"),
        (f"nginx@sha256:{HEX}", None, "IfNotPresent"),
        (f"nginx:latest@sha256:{HEX}", None, "IfNotPresent"),
        ("nginx", "Never", "Never"),
    ],
)
# (spec 6.1.2)
def test_the_default_policy_depends_on_what_the_name_means(image: str, policy: str | None, expected: str):
    assert policy_of(image, policy) == expected
    assert is_latest(image) == (policy_of(image, None) == "Always")


@pytest.mark.parametrize(
    ("policy", "present", "action", "reason", "event"),
    [
        ("Always", False, PULL, "", None),
        ("Always", True, PULL, "", None),
        ("IfNotPresent", False, PULL, "", None),
        ("IfNotPresent", True, USE, "", "Pulled"),
        ("Never", False, REFUSE, "ErrImageNeverPull", "ErrImageNeverPull"),
        ("Never", True, USE, "", "Pulled"),
    ],
)
# (spec 6.1.2)
def test_the_table_of_policies(policy: str, present: bool, action: ImageAction, reason: str, event: str | None):
    verdict = judge_image("nginx", policy, present)
    assert (verdict.action, verdict.reason) == (action, reason)
    assert verdict.image == "nginx:latest"
    assert (verdict.said.reason if verdict.said else None) == event
    assert verdict.said is None or verdict.said.message.startswith('Container image "nginx" ')
    assert must_look(policy) == (policy != "Always")


@pytest.mark.parametrize("policy", ["Always", "IfNotPresent", "Never"])
# (spec 6.1.1)
def test_an_invalid_name_is_refused_under_every_policy(policy: str):
    verdict = judge_image("Nginx", policy, True)
    assert (verdict.action, verdict.reason) == (REFUSE, "InvalidImageName")
    assert verdict.said is not None
    assert verdict.said.reason == "InspectFailed"
    assert (
        verdict.said.message
        == verdict.message
        == (
            'Failed to apply default image tag "Nginx": couldn\'t parse image name "Nginx": '
            "invalid reference format: repository name (library/Nginx) must be lowercase"
        )
    )


# (spec 2.1.7)
def test_back_off_doubles_from_10_to_300_seconds_and_forgets_after_peace():
    back_off: BackOff | None = None
    now_ns, waits = 0, []
    for _ in range(7):
        back_off = next_back_off(back_off, now_ns, "ErrImagePull", "x")
        waits.append(back_off.delay_ns // SECOND_NS)
        now_ns = back_off.until_ns
    assert waits == [10, 20, 40, 80, 160, 300, 300]
    assert next_back_off(back_off, now_ns + 601 * SECOND_NS, "r", "e").delay_ns == 10 * SECOND_NS


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("RegistryUnavailable: connection refused", "RegistryUnavailable"),
        ("SignatureValidationFailed", "SignatureValidationFailed"),
        ("manifest unknown", "ErrImagePull"),
        ("not RegistryUnavailable", "ErrImagePull"),
    ],
)
# (spec 6.1.6)
def test_a_reason_in_front_of_the_error_is_shown(error: str, reason: str):
    assert reason_of(error) == reason


# (spec 6.1.4)
def test_from_the_second_look_on_a_failure_shows_as_back_off_with_its_cause():
    failed = ImagePullFailed("nginx", "web", "ErrImagePull", "manifest unknown", 0)
    assert shown_while_backing_off(failed) == (
        "ImagePullBackOff",
        'Back-off pulling image "nginx": ErrImagePull: manifest unknown',
    )
    again = ImagePullFailed("nginx", "web", "ImagePullBackOff", back_off_message("nginx", "E", "x"), 0)
    assert shown_while_backing_off(again) == (again.reason, again.message)
    invalid = ImagePullFailed("Nginx", "web", "InvalidImageName", "no", 0)
    assert shown_while_backing_off(invalid) == ("InvalidImageName", "no")


# (spec 6.1.5)
def test_the_event_of_a_pull_says_times_and_size():
    said = pulled("nginx", 1_234_567_890, 2_000_000_000, 10)
    assert said.message == ('Successfully pulled image "nginx" in 1.234s (2s including waiting). Image size: 10 bytes.')


@given(
    st.integers(0, 20),
    st.integers(0, 20),
    st.lists(st.integers(0, 3 * SECOND_NS), min_size=1, max_size=60),
)
# (spec 6.2.3)
def test_pulls_never_begin_faster_than_the_rate(per_second: int, burst: int, gaps: list[int]):
    rate = PullRate(per_second, burst)
    now_ns, taken = 0, 0
    tokens = rate.full(0)
    for gap in gaps:
        now_ns += gap
        tokens, wait_ns = rate.take(tokens, now_ns)
        taken += wait_ns == 0
        if per_second:
            assert taken <= max(1, burst) + now_ns * per_second / ONE + 1e-6
            if wait_ns:
                _, more_ns = rate.take(tokens, now_ns + wait_ns)
                assert more_ns == 0, "the time it says is enough"
        else:
            assert wait_ns == 0


@pytest.mark.parametrize(
    ("image", "policy", "present", "expected"),
    [
        ("nginx", "Always", False, ("always", "unknown", "true")),
        ("nginx", "IfNotPresent", False, ("ifnotpresent", "false", "true")),
        ("nginx", "IfNotPresent", True, ("ifnotpresent", "true", "false")),
        ("nginx", "Never", True, ("never", "true", "false")),
        ("nginx", "Never", False, ("never", "false", "unknown")),
        ("No-Name", "Never", False, ("never", "unknown", "unknown")),
    ],
)
def test_the_metric_says_of_a_look_what_a_kubelet_says(
    image: str, policy: str, present: bool, expected: tuple[str, str, str]
) -> None:
    assert look_labels(policy, judge_image(image, policy, present), present=present) == expected
    assert look_labels(policy, None, present=present) == (policy.lower(), "unknown", "unknown")
