"""Attacks on a live agent.

Each is a function of a `Target`. It attacks, waits until the agent has noticed, checks what must not have happened, and
removes its pods. The caller checks whether the agent is well afterwards.
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
    pods.hostile_words,
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
