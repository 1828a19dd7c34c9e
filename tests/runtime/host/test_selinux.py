"""The label of files of containers, as the node's policy has it."""

from __future__ import annotations

from pathlib import Path

from runtime.host.selinux import FileLabel, read_file_label

CONTEXTS = """process = "system_u:system_r:container_t:s0"
file = "system_u:object_r:container_file_t:s0"
ro_file="system_u:object_r:container_ro_file_t:s0"
"""


def machine(root: Path, *, policy: str = "targeted", enforce: bool = True, contexts: str = CONTEXTS) -> str:
    for path, text in (
        ("sys/fs/selinux/enforce", "1" if enforce else None),
        ("etc/selinux/config", f"# SELINUXTYPE= can be one of\nSELINUX=enforcing\nSELINUXTYPE={policy}\n"),
        (f"etc/selinux/{policy}/contexts/lxc_contexts", contexts),
    ):
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return str(root)


def test_the_label_is_that_of_the_nodes_policy(tmp_path: Path) -> None:
    expected = FileLabel("system_u", "object_r", "container_file_t", "s0")
    assert read_file_label(machine(tmp_path, policy="mls")) == expected


def test_a_node_without_selinux_has_none(tmp_path: Path) -> None:
    assert read_file_label(machine(tmp_path, enforce=False)) is None


def test_a_policy_without_containers_has_none(tmp_path: Path) -> None:
    assert read_file_label(machine(tmp_path, contexts="")) is None
