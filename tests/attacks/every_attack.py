"""Attacks on a live agent.

Each is a function of a `Target`: it attacks, waits until the agent has noticed, judges what must not have happened at
once, and takes its pods away. Whether the agent is well afterwards is not its concern.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.attacks import documents, network, pods, servers
from tests.attacks.target import Target

ATTACKS: tuple[Callable[[Target], None], ...] = (
    pods.options_for_mount,
    pods.open_references,
    servers.answers_without_end,
    pods.last_words,
    pods.deep_directories,
    pods.a_deep_claim,
    pods.a_hidden_hoard,
    pods.exploding_variables,
    network.idle_connections,
    network.unknown_tokens,
    documents.costly_documents,
    pods.links_of_the_host,
    pods.endless_numbers,
    network.words_after_a_refusal,
)
"""In the order of the points of the threat list."""
