"""KubeletConfiguration documents for tests: one document, read and defaulted as a merge does it."""

from __future__ import annotations

import json

from config.kubelet import KubeletConfiguration, ReadConfiguration, configuration_document
from config.kubelet.reading import read_bytes, read_plain


def decode_kubelet_configuration(text: bytes) -> ReadConfiguration:
    """Read and default one YAML or JSON document.

    Values are not yet checked against each other (`validate`).
    """
    value, faults = read_bytes(text)
    read = read_plain(value)
    return ReadConfiguration(read.configuration, (*faults, *read.faults), read.warnings)


def encode_kubelet_configuration(configuration: KubeletConfiguration) -> bytes:
    """The document as JSON with sorted keys.

    PyYAML leaves texts such as `08` unquoted, which read as numbers.
    """
    return json.dumps(configuration_document(configuration), sort_keys=True, ensure_ascii=False).encode()
