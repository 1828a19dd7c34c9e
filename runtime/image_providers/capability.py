"""The capability for credential programs: run one and get its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from config.credentials.image_providers import ImageProvider
from config.credentials.provider_answers import ProviderAnswer
from runtime.io.pending import PendingAnswer


class ProviderRequest(msgspec.Struct, frozen=True):
    """The question to a program: the image (with registry, without tag) and the service account."""

    image: str
    token: str = ""
    annotations: Mapping[str, str] = {}

    def __repr__(self) -> str:
        """The token is secret."""
        return f"ProviderRequest({self.image!r}, ...)"


class ProviderFailedError(Exception):
    """A program gave no answer.

    The text names it and says why; `complaint` is what it wrote, without secrets.
    """

    def __init__(self, reason: str, complaint: str = "") -> None:
        super().__init__(reason)
        self.complaint = complaint


class ImageProviders(Protocol):
    """The programs that the node's configuration names."""

    @property
    def known(self) -> tuple[ImageProvider, ...]:
        """The programs in the order of the configuration."""

    def ask(self, provider: ImageProvider, request: ProviderRequest) -> PendingAnswer[ProviderAnswer]:
        """Run the program once.

        Fails with ProviderFailedError, within a minute or so whatever the program does.
        """
