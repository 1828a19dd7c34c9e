"""Reads a kubeconfig file; `config.credentials.kubeconfig` parses its content."""

from __future__ import annotations

import os

from config.credentials.kubeconfig import ApiAccess, decode_kubeconfig
from config.documents.codec import DocumentError

BYTES_AT_MOST = 4 * 2**20
"""Larger files are refused."""


def read_access(path: str, context: str = "") -> ApiAccess:
    """The access of `context`, or of the current one.

    Raises DocumentError; its `also` has the other faults.
    """
    path = os.path.abspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(BYTES_AT_MOST + 1)
    except OSError as error:
        raise DocumentError(
            "--kubeconfig", f"{path}: {error.strerror}", "name a kubeconfig that this user may read"
        ) from None
    if len(data) > BYTES_AT_MOST:
        raise DocumentError(
            "--kubeconfig", f"{path}: it is larger than {BYTES_AT_MOST // 2**20} MiB", "name a kubeconfig"
        )
    return decode_kubeconfig(data, os.path.dirname(path), context)
