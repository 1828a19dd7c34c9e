"""The kubelet's command line, read as the kubelet reads it (spec 12.3).

A kubelet's unit file works with another name.

`parse_flags` is pure and never raises: it collects every fault beside the values it could read. A flag sets either a
field of NodeFlags, which no file has, or a field of KubeletConfiguration (`apply_flags`). It overrides every file.
`config.kubelet.validation` checks whether the values fit each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import msgspec

from config.documents.codec import DocumentError
from config.flags.node_labels import node_label_faults
from config.flags.table import BARE, FLAGS, REFUSED, SHORT, Flag
from config.flags.values import read_value
from config.kubelet.configuration import KubeletConfiguration
from config.kubelet.reading import DEPRECATED_FIELDS
from config.kubelet.unhonoured import NO_EFFECT
from config.values.nearest import nearest
from config.values.quantity import QuantityError, parse_quantity

POD_VOLUME_CONTENT_BYTES = 256 * 1024 * 1024
DEVICE_PLUGIN_WAIT_NS = 600 * 1_000_000_000
"""All that the API can hold for one pod fits well: 200 ConfigMaps of one MiB."""


class NodeFlags(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that only the command line has; durations in nanoseconds.

    An empty kubeconfig means a standalone node.
    """

    config: str = ""
    config_dir: str = ""
    kubeconfig: str = ""
    bootstrap_kubeconfig: str = ""
    cert_dir: str = "/var/lib/kubelet/pki"
    node_labels: Mapping[str, str] = {}
    cloud_provider: str = ""
    hostname_override: str = ""
    node_ip: str = ""
    root_dir: str = "/var/lib/kubelet"
    runtime_cgroups: str = ""
    lock_file: str = ""
    exit_on_lock_contention: bool = False
    image_credential_provider_config: str = ""
    image_credential_provider_bin_dir: str = ""
    minimum_container_ttl_ns: int = 0
    maximum_dead_containers_per_container: int = 1
    maximum_dead_containers: int = -1
    accept_manifests: bool = False
    pod_volume_content_bytes: int = POD_VOLUME_CONTENT_BYTES
    device_plugin_wait_duration_ns: int = DEVICE_PLUGIN_WAIT_NS
    island_config: str = ""
    record: str = ""
    record_size: str = "256MiB"
    version: str = ""
    help: bool = False

    @property
    def record_size_bytes(self) -> int:
        """`record_size` as a number. Raises ValueError."""
        return read_size(self.record_size)


@dataclass(frozen=True, slots=True)
class ParsedFlags:
    """The content of a command line: node flags, settings, all faults and all warnings.

    A setting is (attribute path -> value).

    `without_effect`: flag -> value of those that do nothing.
    """

    node: NodeFlags = field(default_factory=NodeFlags)
    settings: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[DocumentError, ...] = ()
    warnings: tuple[DocumentError, ...] = ()
    without_effect: Mapping[str, Any] = field(default_factory=dict)


def read_size(text: str) -> int:
    """A size such as `256MiB`, `256Mi` or `1000000`, in bytes. Raises ValueError."""
    try:
        size = parse_quantity(text.strip().removesuffix("B")).value()
    except QuantityError:
        size = 0
    if size <= 0:
        raise ValueError(f"{text!r} is no size")
    return size


def parse_flags(argv: Sequence[str]) -> ParsedFlags:
    """Read arguments, without the program's name. The path of a fault is its flag, such as `--max-pods`."""
    reader = _Reader(list(argv))
    reader.read()
    own = {f.attribute: reader.values[n] for n, f in reader.given.items() if f.attribute and not f.configures}
    node = NodeFlags(**own)
    settings = {f.attribute: reader.values[n] for n, f in reader.given.items() if f.configures}
    warnings = tuple(_deprecation(flag) for flag in reader.given.values() if flag.deprecated)
    faults = (*reader.faults, *_node_faults(node))
    idle = {name: reader.values[name] for name, flag in reader.given.items() if not flag.attribute}
    return ParsedFlags(node, settings, faults, (*warnings, *_unhonoured(node)), idle)


def apply_flags(configuration: KubeletConfiguration, flags: ParsedFlags) -> KubeletConfiguration:
    """The configuration with the settings of the command line. Feature gates merge, all else is replaced."""
    for attribute, value in flags.settings.items():
        if attribute == "feature_gates":
            value = {**configuration.feature_gates, **value}
        configuration = _replaced(configuration, attribute.split("."), value)
    return configuration


def _replaced(part: Any, path: list[str], value: Any) -> Any:
    first, *rest = path
    inner = _replaced(getattr(part, first), rest, value) if rest else value
    return msgspec.structs.replace(part, **{first: inner})


class _Reader:
    """One walk over the arguments."""

    def __init__(self, left: list[str]) -> None:
        self._left = left
        self.given: dict[str, Flag] = {}
        self.values: dict[str, Any] = {}
        self.faults: list[DocumentError] = []

    def read(self) -> None:
        while self._left:
            argument = self._left.pop(0)
            if argument == "--":
                for rest in self._left:
                    self._positional(rest)
                return
            if argument.startswith("--"):
                name, equals, value = argument[2:].partition("=")
                self._flag(name.replace("_", "-"), f"--{name}", value if equals else None)
            elif argument.startswith("-") and len(argument) > 1:
                self._short(argument)
            else:
                self._positional(argument)

    def _short(self, argument: str) -> None:
        letter, value = argument[1], argument[2:]
        if letter not in SHORT or (value and letter == "h"):
            name = argument[1:].partition("=")[0].replace("_", "-")
            hint = f"write --{name}" if name in FLAGS else "short flags are -v and -h"
            self.faults.append(DocumentError(argument, "unknown short flag", hint))
            return
        self._flag(SHORT[letter], f"-{letter}", value.removeprefix("=") if value else None)

    def _positional(self, argument: str) -> None:
        hint = "flags only; write --flag=value"
        if argument.lower() in ("true", "false"):
            hint = f"a switch takes its value after an equals sign: --flag={argument}"
        self.faults.append(DocumentError(argument, "unknown command", hint))

    def _flag(self, name: str, shown: str, value: str | None) -> None:
        flag = FLAGS.get(name)
        if flag is None:
            reason, hint = ("cannot be used", REFUSED[name]) if name in REFUSED else ("unknown flag", _nearest(name))
            self.faults.append(DocumentError(shown, reason, hint))
            # A value after an unknown flag is not a second mistake.
            if value is None and self._left and not self._left[0].startswith("-"):
                self._left.pop(0)
            return
        if value is None:
            value = BARE.get(flag.kind)
        if value is None:
            if not self._left or self._is_flag(self._left[0]):
                self.faults.append(DocumentError(shown, "needs a value", f"write --{name}=<{flag.kind}>"))
                return
            value = self._left.pop(0)
        try:
            self.values[name] = read_value(flag.kind, value, self.values.get(name))
            self.given[name] = flag
        except ValueError as error:
            self.faults.append(DocumentError(shown, str(error), f"write --{name}=<{flag.kind}>"))

    @staticmethod
    def _is_flag(argument: str) -> bool:
        name = argument[2:].partition("=")[0].replace("_", "-")
        return argument.startswith("--") and (name in FLAGS or not name)


def _nearest(name: str) -> str:
    near = nearest(name, (*FLAGS, *REFUSED))
    return f"did you mean --{near}?" if near else "see --help"


def _deprecation(flag: Flag) -> DocumentError:
    if flag.configures and flag.field in DEPRECATED_FIELDS:
        return DocumentError(f"--{flag.name}", *DEPRECATED_FIELDS[flag.field])
    if flag.configures:
        return DocumentError(f"--{flag.name}", "deprecated", f"set {flag.field} in the file of --config")
    if flag.attribute:
        return DocumentError(f"--{flag.name}", "deprecated", "use --eviction-hard or --eviction-soft instead")
    return DocumentError(f"--{flag.name}", "has no effect", "remove it")


UNHONOURED: Mapping[str, tuple[str, str]] = {
    "runtime_cgroups": ("the agent reports no statistics of the runtime's cgroup", "remove it"),
}
"""Flags without a field in the file that have no effect here: why, and what to do."""


def _unhonoured(node: NodeFlags) -> Iterator[DocumentError]:
    for attribute, (why, hint) in UNHONOURED.items():
        if getattr(node, attribute):
            yield DocumentError(f"--{attribute.replace('_', '-')}", f"{NO_EFFECT}: {why}", hint)


def _node_faults(node: NodeFlags) -> list[DocumentError]:
    """Rules for flags that are no configuration field."""
    faults: list[DocumentError] = []
    if node.exit_on_lock_contention and not node.lock_file:
        faults.append(DocumentError("--exit-on-lock-contention", "needs --lock-file", "give --lock-file=<path>"))
    if node.cloud_provider not in ("", "external"):
        reason = f"{node.cloud_provider!r} is no longer built in"
        faults.append(DocumentError("--cloud-provider", reason, "use external, or remove it"))
    if node.pod_volume_content_bytes <= 0:
        hint = f"write a number of bytes, such as {NodeFlags().pod_volume_content_bytes}"
        faults.append(DocumentError("--pod-volume-content-bytes", "must be greater than zero", hint))
    if node.device_plugin_wait_duration_ns < 0:
        hint = "write a duration such as 10m, or 0 for no wait"
        faults.append(DocumentError("--device-plugin-wait-duration", "must not be negative", hint))
    try:
        _ = node.record_size_bytes
    except ValueError as error:
        faults.append(DocumentError("--record-size", str(error), f"write a size, such as {NodeFlags().record_size}"))
    if node.island_config and not node.kubeconfig:
        reason = "does nothing on a node without an API server"
        faults.append(DocumentError("--island-config", reason, "give --kubeconfig, or remove it"))
    addresses = [part.strip() for part in node.node_ip.split(",")] if node.node_ip else []
    families = []
    for address in addresses:
        try:
            families.append(ip_address(address).version)
        except ValueError:
            faults.append(DocumentError("--node-ip", f"{address!r} is not an IP address", "write 192.0.2.1"))
    if len(families) > 2 or len(set(families)) != len(families):
        faults.append(DocumentError("--node-ip", "at most one address of each family", "write IPv4,IPv6"))
    if bool(node.image_credential_provider_config) != bool(node.image_credential_provider_bin_dir):
        missing = "bin-dir" if node.image_credential_provider_config else "config"
        reason = "is missing beside its other half"
        faults.append(DocumentError(f"--image-credential-provider-{missing}", reason, "give both, or neither"))
    return [*faults, *node_label_faults(node.node_labels)]
