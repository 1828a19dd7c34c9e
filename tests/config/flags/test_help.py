"""`run --help` names every flag, with the field that it sets and its default."""

from __future__ import annotations

import pytest

from config.flags.help import flags_help
from config.flags.table import FLAGS, SHORT


def test_help_names_every_flag_and_keeps_to_its_width() -> None:
    text = flags_help(100)
    words = set(text.replace(",", " ").split())
    assert not [name for name in FLAGS if f"--{name}" not in words and name not in SHORT.values()]
    assert max(map(len, text.splitlines())) <= 100
    assert text.index("Configuration files:") < text.index("Deprecated: set the field")


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--sync-frequency", "syncFrequency (default 1m0s)"),
        ("--max-pods", "maxPods (default 110)"),
        ("--read-only-port", "readOnlyPort (default 10255)"),
        ("--cgroups-per-qos", "cgroupsPerQOS (default true)"),
        ("--enforce-node-allocatable", "enforceNodeAllocatable (default [pods])"),
        ("--root-dir", "where pods and state are kept (default /var/lib/kubelet)"),
        ("--pod-manifest-path", "staticPodPath"),
        ("--version", "print the version and end"),
    ],
)
def test_a_flag_tells_its_field_and_its_default(flag: str, text: str) -> None:
    words = " ".join(flags_help(100).split())
    _, _, told = words.partition(f"{flag} ")
    told = told.partition("> ")[2] if told.startswith("<") else told
    assert told.partition(" --")[0].partition(" -h,")[0] == text
