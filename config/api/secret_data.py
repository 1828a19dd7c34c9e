"""The content of secrets and config maps as bytes by key.

Pure. Bad base64 raises `DocumentError` with the place.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from config.documents.codec import DocumentError
from config.documents.walk import path_text
from config.objects import ConfigMap, Secret


def secret_bytes(secret: Secret) -> dict[str, bytes]:
    """The values of a secret by key; `string_data` overrides `data`, as on the API server.

    Raises DocumentError.
    """
    return _decoded("data", secret.data) | {key: text.encode() for key, text in secret.string_data.items()}


def config_map_bytes(config_map: ConfigMap) -> dict[str, bytes]:
    """The values of a config map by key, texts as UTF-8.

    A valid config map has no key in both maps. Raises DocumentError.
    """
    texts = {key: text.encode() for key, text in config_map.data.items()}
    return texts | _decoded("binaryData", config_map.binary_data)


def _decoded(field: str, values: Mapping[str, str]) -> dict[str, bytes]:
    decoded: dict[str, bytes] = {}
    for key, text in values.items():
        try:
            # The API server allows line ends inside: people paste the output of `base64`.
            decoded[key] = base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except (binascii.Error, ValueError) as error:
            # The text itself is secret and stays out of the message.
            reason = "it has characters outside ASCII" if isinstance(error, UnicodeError) else str(error)
            raise DocumentError(path_text((field, key)), f"it is not base64: {reason}", "encode the value") from None
    return decoded
