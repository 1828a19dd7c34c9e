"""What secrets and config maps hold, as bytes by key: what becomes files and variables.

Pure. What can fail is base64 that is none (`DocumentError` with the place). Refuses to know files and names of files.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from config.documents.codec import DocumentError
from config.documents.walk import path_text
from config.objects import ConfigMap, Secret


def secret_bytes(secret: Secret) -> dict[str, bytes]:
    """The values of a secret by key; `string_data` goes over `data` as the API server would put it. DocumentError."""
    return _decoded("data", secret.data) | {key: text.encode() for key, text in secret.string_data.items()}


def config_map_bytes(config_map: ConfigMap) -> dict[str, bytes]:
    """The values of a config map by key, texts as UTF-8. No key is in both maps of a valid one. DocumentError."""
    texts = {key: text.encode() for key, text in config_map.data.items()}
    return texts | _decoded("binaryData", config_map.binary_data)


def _decoded(field: str, values: Mapping[str, str]) -> dict[str, bytes]:
    decoded: dict[str, bytes] = {}
    for key, text in values.items():
        try:
            # Line ends inside are allowed by the API server: people paste the output of `base64`.
            decoded[key] = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError) as error:
            # The text itself is secret and stays out of the message.
            reason = "it has characters outside ASCII" if isinstance(error, UnicodeError) else str(error)
            raise DocumentError(path_text((field, key)), f"it is not base64: {reason}", "encode the value") from None
    return decoded
