"""Chains and rules of the node's packet filter, made with its `iptables` and `ip6tables` programs.

`LocalPacketRules` adds what is missing, and removes nothing: others, such as kube-proxy, have rules beside ours. It
refuses to know what the rules are for. A program that is missing, or cannot do its work, is a `PacketRulesError`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

IPV4, IPV6 = "IPv4", "IPv6"
PROGRAMS = {IPV4: "iptables", IPV6: "ip6tables"}
TIMEOUT_S = 60
WAIT_FOR_LOCK = ("-w", "5")
NO = 1
"""The exit status for what is not there, or is there already."""


class PacketRulesError(Exception):
    """Why a chain or a rule could not be made or looked for."""


@dataclass(frozen=True, slots=True)
class Chain:
    table: str
    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """`words`: what follows the name of the chain. `first`: it goes before the rules that are there."""

    chain: Chain
    words: tuple[str, ...]
    first: bool = False


class PacketRules(Protocol):
    """Blocks. Every method raises PacketRulesError."""

    def is_offered(self, family: str) -> bool:
        """Whether this node has the program for the family."""

    def has_chain(self, family: str, chain: Chain) -> bool: ...

    def ensure(self, family: str, chains: Sequence[Chain], rules: Sequence[Rule]) -> None:
        """Make what is missing, in this order."""


class LocalPacketRules:
    """See the module. `before`: words before each command; for a network namespace."""

    def __init__(self, before: Sequence[str] = ()) -> None:
        self._before = tuple(before)

    def is_offered(self, family: str) -> bool:
        return shutil.which(PROGRAMS[family]) is not None

    def has_chain(self, family: str, chain: Chain) -> bool:
        return self._says_yes(family, chain, "-S")

    def ensure(self, family: str, chains: Sequence[Chain], rules: Sequence[Rule]) -> None:
        for chain in chains:
            if not self.has_chain(family, chain):
                self._run(family, chain, "-N", accepted=(0, NO))  # somebody else may be first
        for rule in rules:
            if not self._says_yes(family, rule.chain, "-C", rule.words):
                self._run(family, rule.chain, "-I" if rule.first else "-A", rule.words)

    def _says_yes(self, family: str, chain: Chain, verb: str, words: Sequence[str] = ()) -> bool:
        return self._run(family, chain, verb, words, accepted=(0, NO)) == 0

    def _run(
        self, family: str, chain: Chain, verb: str, words: Sequence[str] = (), accepted: Sequence[int] = (0,)
    ) -> int:
        program = PROGRAMS[family]
        command = (*self._before, program, *WAIT_FOR_LOCK, "-t", chain.table, verb, chain.name, *words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PacketRulesError(f"{program} cannot be run: {error}") from None
        if done.returncode not in accepted:
            words_said = " ".join(done.stderr.split()) or f"status {done.returncode}"
            raise PacketRulesError(f"{program} {verb} {chain.name} in table {chain.table}: {words_said}")
        return done.returncode
