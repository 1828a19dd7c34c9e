"""What is told of a pass that failed."""

from __future__ import annotations

import pytest

from actors.pod.troubles import ToldError, failed_sync_text
from runtime.cri.errors import CriError, StatusCode

TORN = (
    'failed to destroy network for sandbox "e2": failed to get network "pods" cached result: '
    "decoding version from network config: "
)
SAID = "error syncing pod, trying again: StopPodSandbox: "
WAY_OUT = "; a power cut has torn what CNI had kept: remove the files of this sandbox in /var/lib/cni/results"


@pytest.mark.parametrize(
    ("message", "way_out"),
    [
        (f"{TORN}unexpected end of JSON input", WAY_OUT),  # empty, or cut
        (f"{TORN}invalid character '\\x00' looking for beginning of value", WAY_OUT),  # full of zeros
        ("failed to destroy network: plugin bridge failed", ""),
    ],
)
def test_a_torn_file_of_cni_is_told_with_the_way_out(message: str, way_out: str) -> None:
    failure = CriError(StatusCode.UNKNOWN, message, "StopPodSandbox")
    assert failed_sync_text(failure) == f"{SAID}{message} (UNKNOWN){way_out}"


def test_what_an_event_has_told_is_not_told_twice() -> None:
    assert failed_sync_text(ToldError(StatusCode.UNKNOWN, "no room", "RunPodSandbox")) == ""


def test_a_status_that_cannot_be_had_is_told_in_the_words_of_a_kubelet() -> None:
    failure = CriError(StatusCode.UNAVAILABLE, "gone", "PodSandboxStatus")
    assert failed_sync_text(failure) == "error determining status: rpc error: code = Unavailable desc = gone"
