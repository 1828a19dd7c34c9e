"""Reads the files of `--image-credential-provider-config`, and finds their programs (spec 6.3).

A directory has one document in each file that ends in `.json`, `.yaml` or `.yml`, in the order of their names.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

import msgspec

from config.credentials.image_providers import ImageProvider, decode_image_providers
from config.documents.codec import DocumentError, Faults

CONFIG_FLAG = "--image-credential-provider-config"
DIRECTORY_FLAG = "--image-credential-provider-bin-dir"
SUFFIXES = (".json", ".yaml", ".yml")
BYTES_AT_MOST = 1 << 20


class ProviderConfig(msgspec.Struct, frozen=True):
    """The providers, and a digest of all that was read, by which users compare nodes."""

    providers: tuple[ImageProvider, ...]
    digest: str


def read_provider_config(path: str, directory: str, *, tokens: bool) -> ProviderConfig:
    """Read the provider configuration. Raises DocumentError with every fault of files, contents and
    programs.
    """
    files = tuple((file, _content(file)) for file in _files(os.path.abspath(path)))
    providers = decode_image_providers(files, tokens=tokens)
    faults = Faults()
    for each in providers:
        program = os.path.join(directory, each.name)
        if not os.path.isfile(program) or not os.access(program, os.X_OK):
            reason = "is not a program" if os.path.exists(program) else "is not there"
            faults.append(DocumentError(DIRECTORY_FLAG, f"{program} {reason}", f"{path} names it"))
    if faults:
        first, *others = faults
        raise DocumentError(first.path, first.reason, first.hint, tuple(others))
    return ProviderConfig(providers, _digest(content for _, content in files))


def _digest(contents: Iterable[bytes]) -> str:
    """The digest that a kubelet computes: each file after its length in eight bytes."""
    made = hashlib.sha256()
    for content in contents:
        made.update(len(content).to_bytes(8, "big") + content)
    return f"sha256:{made.hexdigest()}"


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        raise DocumentError(CONFIG_FLAG, f"{path}: {error.strerror}", "check its permissions") from None
    found = [os.path.join(path, name) for name in names if name.endswith(SUFFIXES)]
    if not (files := [file for file in found if not os.path.isdir(file)]):
        raise DocumentError(CONFIG_FLAG, f"{path}: no file ends in {', '.join(SUFFIXES)}", "put one there")
    return files


def _content(file: str) -> bytes:
    try:
        with open(file, "rb") as stream:
            content = stream.read(BYTES_AT_MOST + 1)
    except OSError as error:
        raise DocumentError(CONFIG_FLAG, f"{file}: {error.strerror}", "check the path and its permissions") from None
    if len(content) > BYTES_AT_MOST:
        raise DocumentError(CONFIG_FLAG, f"{file}: larger than {BYTES_AT_MOST} bytes", "give a configuration file")
    return content
