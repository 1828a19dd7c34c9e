"""Reads the configuration file and the drop-in directory (spec 12.1).

Pure functions decode the bytes.

Owns only the reading: what is there, in a stable order, and clear faults for what is not. Meaning, merging and rules
are `config.start_configuration`.
"""

import os

from config.documents.codec import DocumentError
from config.flags.command_line import ParsedFlags
from config.kubelet.drop_ins import SUFFIX, NamedBytes
from config.start_configuration import ConfigurationRejected, StartConfiguration, load_kubelet_configuration

BYTES_AT_MOST = 4 * 2**20
"""A larger file is no configuration; reading stops before memory does."""


def read_config_file(path: str) -> NamedBytes:
    """The main file. Raises DocumentError when it is missing, empty or unreadable."""
    return read_named_file(os.path.abspath(path), "--config")


def read_drop_ins(directory: str) -> tuple[NamedBytes, ...]:
    """Every file below the directory, in lexical order.

    Those not ending in `.conf` come without content, to be named as skipped. Raises DocumentError for a missing
    directory or an unreadable file.
    """
    root = os.path.abspath(directory)

    def fail(error: OSError) -> None:
        hint = "create it, or leave --config-dir out"
        raise DocumentError("--config-dir", f"{error.filename}: {error.strerror}", hint) from error

    found: list[NamedBytes] = []
    for folder, folders, names in os.walk(root, onerror=fail):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            found.append(read_named_file(path, "--config-dir") if name.endswith(SUFFIX) else NamedBytes(path, b""))
    return tuple(sorted(found, key=lambda drop_in: drop_in.name.split("/")))


def configuration_of(flags: ParsedFlags, *, cgroup_version: int | None = None) -> StartConfiguration:
    """Read what the flags name and decide the configuration.

    Raises ConfigurationRejected with every fault.
    """
    faults: list[DocumentError] = []
    file: NamedBytes | None = None
    drop_ins: tuple[NamedBytes, ...] = ()
    if flags.node.config:
        try:
            file = read_config_file(flags.node.config)
        except DocumentError as error:
            faults.append(error)
    if flags.node.config_dir:
        try:
            drop_ins = read_drop_ins(flags.node.config_dir)
        except DocumentError as error:
            faults.append(error)
    try:
        loaded = load_kubelet_configuration(flags, file, drop_ins, cgroup_version=cgroup_version)
    except ConfigurationRejected as rejected:
        raise ConfigurationRejected((*faults, *rejected.faults)) from None
    if faults:
        raise ConfigurationRejected(faults)
    return loaded


def read_named_file(path: str, flag: str) -> NamedBytes:
    """The file that a flag names. Raises DocumentError when it is missing, unreadable or too large."""
    try:
        with open(path, "rb") as file:
            content = file.read(BYTES_AT_MOST + 1)
    except OSError as error:
        raise DocumentError(flag, f"{path}: {error.strerror}", "check the path and its permissions") from error
    if len(content) > BYTES_AT_MOST:
        raise DocumentError(flag, f"{path}: larger than {BYTES_AT_MOST} bytes", "give a configuration file")
    return NamedBytes(path, content)
