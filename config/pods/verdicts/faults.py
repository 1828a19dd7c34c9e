"""`Fault`: what an error text means to whoever made the pod."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """`cause`: a word for tools (docs/reference/verdicts.md). `advice`: what to do.

    `text` goes on after what cannot be had, such as the name of the image. It is empty where the error says it.
    """

    cause: str
    text: str
    advice: str
