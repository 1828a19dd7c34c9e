"""The file of `--island-config`: what the node may start from memory. It is read before the start."""

from __future__ import annotations

import os

from config.documents.codec import DocumentError
from config.island import IslandSettings, decode_island
from config.start_configuration import ConfigurationRejected, StartConfiguration
from runtime.state.config_files import read_named_file

FLAG = "--island-config"


def island_settings(start: StartConfiguration) -> IslandSettings | None:
    """None: the flag names no file. Raises ConfigurationRejected with every fault."""
    if not start.node.island_config:
        return None
    path = os.path.abspath(start.node.island_config)
    try:
        content = read_named_file(path, FLAG).content
    except DocumentError as error:
        raise ConfigurationRejected(error.faults) from None
    try:
        return decode_island(content)
    except DocumentError as error:
        faults = [DocumentError(f"{path}: {each.path}", each.reason, each.hint) for each in error.faults]
        raise ConfigurationRejected(faults) from None
