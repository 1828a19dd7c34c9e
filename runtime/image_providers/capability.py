"""What a node can do with credential programs: run one, and hear its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from config.credentials.image_providers import ImageProvider
from config.credentials.provider_answers import ProviderAnswer
from runtime.io.pending import PendingAnswer


class ProviderRequest(msgspec.Struct, frozen=True):
    """What a program is asked: about an image (with its registry, without its tag), and on whose behalf."""

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
        """In the order in which they are configured."""

    def ask(self, provider: ImageProvider, request: ProviderRequest) -> PendingAnswer[ProviderAnswer]:
        """Run the program once.

        Fails with ProviderFailedError, within a minute or so whatever the program does.
        """
