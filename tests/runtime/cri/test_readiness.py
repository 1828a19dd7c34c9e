"""Whether a runtime can be worked with, by its version and its conditions."""

from __future__ import annotations

import pytest

from runtime.cri.messages import RuntimeCondition, RuntimeStatus, StatusResponse, VersionResponse
from runtime.cri.readiness import troubles, version_fault


# (spec 3.14.3)
def test_another_version_of_the_interface_is_told_with_what_is_needed() -> None:
    fault = version_fault(VersionResponse(version="0.0.9", runtime_name="old", runtime_version="9"))
    assert "old 9 says interface version 0.0.9, 0.1.0 is needed" in fault
    assert version_fault(VersionResponse(version="0.1.0", runtime_name="containerd", runtime_api_version="v1")) == ""


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        ((), ("the runtime does not say whether it is ready", "network state unknown")),
        (
            (
                RuntimeCondition(type="RuntimeReady", status=True),
                RuntimeCondition(type="NetworkReady", reason="NoCni", message="no plugin"),
            ),
            ("", "NetworkReady=false reason:NoCni message:no plugin"),
        ),
        (
            (
                RuntimeCondition(type="RuntimeReady", reason="Down", message="it ends"),
                RuntimeCondition(type="NetworkReady", status=True),
            ),
            ("RuntimeReady=false reason:Down message:it ends", ""),
        ),
    ],
)
# (spec 2.2.5)
def test_a_condition_that_does_not_hold_is_told(
    conditions: tuple[RuntimeCondition, ...], told: tuple[str, str]
) -> None:
    assert troubles(StatusResponse(status=RuntimeStatus(conditions=conditions))) == told
