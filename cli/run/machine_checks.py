"""Before a node starts on this machine: check the machine, then prepare it (spec 10.1, 10.6).

`actors.node.start_checks` and `actors.node.kernel_tunables` decide what is wrong; this module reads the machine for
them. It changes nothing until all checks have passed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from actors.node.kernel_tunables import TunableDifference, differences, protected_faults, set_all
from actors.node.start_checks import asked_cgroups, reservable_capacity, start_faults, start_remarks, start_warnings
from actors.node_object.settings import Remark
from actors.resources.shares.file_faults import StateFileError
from actors.resources.shares.files import read_book
from actors.resources.shares.settings import are_in_use, share_faults
from config.documents.codec import DocumentError
from config.kubelet import KubeletConfiguration
from runtime.host.facts import LocalHostFacts
from runtime.host.kernel_parameters import KernelParameters
from runtime.host.machine import MachineFacts
from runtime.host.own_process import allow_open_files, set_oom_score
from runtime.host.start_facts import read_start_facts
from runtime.state.share_files import LocalShareFiles

LOG = logging.getLogger("actorlet.run")


@dataclass(frozen=True, slots=True)
class Findings:
    """Results of `actors.node.start_checks`.

    `to_set`: kernel parameters that differ from what a node needs.
    """

    faults: tuple[DocumentError, ...]
    warnings: tuple[str, ...]
    remarks: tuple[Remark, ...]
    to_set: tuple[TunableDifference, ...]


def look_at_machine(
    configuration: KubeletConfiguration, machine: MachineFacts, root: str, parameters: KernelParameters
) -> Findings:
    """Check this machine under that configuration. `root`: the directory of the node."""
    facts = read_start_facts(asked_cgroups(configuration))
    capacity = reservable_capacity(machine, _disk_bytes(root), facts.pids)
    to_set = differences(parameters)
    protected = protected_faults(to_set) if configuration.protect_kernel_defaults else ()
    shares = share_faults(configuration, LocalHostFacts().topology()) if are_in_use(configuration) else ()
    states = _state_faults(configuration, root)
    return Findings(
        (*start_faults(configuration, facts, capacity), *shares, *states, *protected),
        start_warnings(configuration, facts),
        start_remarks(facts, machine.kernel_version),
        to_set,
    )


def _state_faults(configuration: KubeletConfiguration, root: str) -> Iterator[DocumentError]:
    """State files that an agent must not go on with, such as those of another policy."""
    try:
        read_book(LocalShareFiles(root).load(), root, configuration)
    except StateFileError as fault:
        yield DocumentError(f"$.{fault.manager.lower()}ManagerPolicy", fault.fault, fault.way_out)


def prepare_machine(configuration: KubeletConfiguration, found: Findings, parameters: KernelParameters) -> None:
    """Set parameters of the kernel and of this process. A failure is logged and does not stop the start."""
    for warning in found.warnings:
        LOG.warning("%s", warning)
    changed, failed = set_all(parameters, found.to_set)
    for text in changed:
        LOG.info("%s", text)
    for text in failed:
        LOG.warning("%s", text)
    score = configuration.oom_score_adj
    if fault := set_oom_score(score):
        LOG.warning("oomScoreAdj %d cannot be set, so the kernel may kill the agent: %s", score, fault)
    if fault := allow_open_files(configuration.max_open_files):
        LOG.warning("the agent cannot have %d files open (maxOpenFiles): %s", configuration.max_open_files, fault)


def _disk_bytes(root: str) -> int | None:
    try:
        return LocalHostFacts().disk_bytes(root)
    except OSError:
        return None
