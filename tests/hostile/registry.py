"""Every decoder of foreign bytes, by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.hostile.cluster import CLUSTER
from tests.hostile.containers import CONTAINERS
from tests.hostile.decoder import Decoder
from tests.hostile.documents import DOCUMENTS
from tests.hostile.network import NETWORK
from tests.hostile.values import VALUES

CORPUS = Path(__file__).parent / "corpus"
DECODERS: Mapping[str, Decoder] = {each.name: each for each in (*DOCUMENTS, *VALUES, *CONTAINERS, *NETWORK, *CLUSTER)}


def corpus_of(name: str) -> list[bytes]:
    """The kept inputs of a decoder: each has once found a fault, or has a shape that is worth keeping."""
    return [file.read_bytes() for file in sorted((CORPUS / name).glob("*")) if file.is_file()]
