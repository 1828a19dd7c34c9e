"""How much one document may cost, wherever it comes from.

Who reads foreign text finds its limits here.

A document within `BYTES_AT_MOST` is read with memory and work in proportion to its size. Refuses to know any format.
"""

from __future__ import annotations

BYTES_AT_MOST = 10 * 1024 * 1024
"""Of one text (spec 1.1).

A reader of files or streams reads one byte more, to tell a text that is too long.
"""

NODES_AT_MOST = 500_000
"""Values in one text, aliases expanded. A pod has a few hundred."""

CHARACTERS_AT_MOST = 2 * BYTES_AT_MOST
"""Limit of characters in all keys and values of one text, with aliases expanded."""

DEPTH_AT_MOST = 100
"""Nested lists and maps. A pod is at most 15 deep."""

DOCUMENTS_AT_MOST = 1000
"""Limit of documents in one stream of YAML."""

FAULTS_AT_MOST = 100
"""Told of one document. Nobody reads more, and each takes more memory than the text that it is about."""

REASON_CHARACTERS_AT_MOST = 1000
PATH_CHARACTERS_AT_MOST = 1000
STEP_CHARACTERS_AT_MOST = 320
"""Shown of one key in a path. A key of the API has at most 317 characters, its domain included."""


def shortened(text: str, at_most: int) -> str:
    """The text, its end left out where it has more characters."""
    return text if len(text) <= at_most else f"{text[:at_most]}..."
