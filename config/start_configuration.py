"""The configuration of a node at its start, from defaults, file, drop-ins and flags (spec 12.1).

Later sources override earlier ones. Without any file, the kubelet's older, more open defaults apply and no eviction
threshold is set. All faults of all sources are reported at once, one a line, and a fault refuses the start. Pure:
`runtime.state.config_files` reads the files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from config.documents.codec import DocumentError
from config.flags.command_line import NodeFlags, ParsedFlags, apply_flags
from config.flags.shown import flags_shown
from config.kubelet import KubeletConfiguration, legacy_configuration, validate
from config.kubelet.drop_ins import NamedBytes, merge_documents
from config.kubelet.eviction import with_default_thresholds
from config.kubelet.feature_gates import FeatureGates
from config.kubelet.reading import read_plain


class ConfigurationRejected(Exception):  # noqa: N818  # an outcome told to the user, not a mishap
    """The start is refused. `faults` lists every fault; the text has the same, one a line."""

    def __init__(self, faults: Sequence[DocumentError]) -> None:
        super().__init__("\n".join(map(str, faults)))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class StartConfiguration:
    """A valid configuration, the gates in force, the other flags, and warnings for the user.

    `shown`: every flag as `/flagz` shows it.
    """

    configuration: KubeletConfiguration
    gates: FeatureGates
    node: NodeFlags
    warnings: tuple[DocumentError, ...]
    skipped: tuple[str, ...]
    shown: Mapping[str, str]


def load_kubelet_configuration(
    flags: ParsedFlags,
    file: NamedBytes | None = None,
    drop_ins: Sequence[NamedBytes] = (),
    *,
    cgroup_version: int | None = None,
) -> StartConfiguration:
    """Merge all sources, fill in defaults, and check. Raises ConfigurationRejected with every fault.

    `cgroup_version` is the host's, 1 or 2, where it is known (spec 12.2, singleProcessOOMKill).
    """
    merged = merge_documents(file, drop_ins)
    if file or drop_ins:
        configuration = with_default_thresholds(read_plain(merged.document).configuration)
    else:
        configuration = legacy_configuration()
    configuration = apply_flags(configuration, flags)
    checked = validate(configuration, cgroup_version=cgroup_version)
    # An unreadable field has its fault already; its default needs no second one.
    unreadable = {fault.path.rpartition(": ")[2] for fault in merged.faults}
    faults = (*flags.faults, *merged.faults, *(fault for fault in checked.faults if fault.path not in unreadable))
    if faults:
        raise ConfigurationRejected(faults)
    warnings = (*flags.warnings, *merged.warnings, *checked.warnings)
    return StartConfiguration(configuration, checked.gates, flags.node, warnings, merged.skipped, flags_shown(flags))
