"""`PacketRulesActor` keeps the packet filter's chains that a kubelet makes (`makeIPTablesUtilChains`).

They serve other components of the node: KUBE-IPTABLES-HINT shows which variant of iptables is in use. KUBE-FIREWALL
drops packets from outside to the loopback addresses, which `route_localnet` of kube-proxy would let in. An
administrator or a firewall may flush everything at any time. So a KUBE-KUBELET-CANARY chain stands in three tables, and
each minute the actor looks for it. Where one is gone, everything is made again.

A node without iptables has nobody who needs these chains: the actor says so once and ends its work. A failure is logged
when it changes, and tried again each minute.
"""

from __future__ import annotations

from typing import ClassVar

from actors.kernel import Actor, Message, SoleMessage, handles
from runtime.host.packet_rules import IPV4, IPV6, Chain, PacketRules, PacketRulesError, Rule

SECOND_NS = 1_000_000_000
PERIOD_NS = 60 * SECOND_NS
LOOK_NS = 300 * SECOND_NS
FAMILIES = (IPV4, IPV6)

HINT = Chain("mangle", "KUBE-IPTABLES-HINT")
FIREWALL = Chain("filter", "KUBE-FIREWALL")
CANARIES = tuple(Chain(table, "KUBE-KUBELET-CANARY") for table in ("mangle", "nat", "filter"))

_MARTIANS = (
    *("-m", "comment", "--comment", "block incoming localnet connections"),
    *("--dst", "127.0.0.0/8", "!", "--src", "127.0.0.0/8"),
    *("-m", "conntrack", "!", "--ctstate", "RELATED,ESTABLISHED,DNAT"),
    *("-j", "DROP"),
)
"""The words of kube-proxy, too: iptables then knows that the rule is there."""

CHAINS = {IPV4: (HINT, FIREWALL, *CANARIES), IPV6: (HINT, *CANARIES)}
RULES = {
    IPV4: (
        Rule(Chain("filter", "OUTPUT"), ("-j", FIREWALL.name), first=True),
        Rule(Chain("filter", "INPUT"), ("-j", FIREWALL.name), first=True),
        Rule(FIREWALL, _MARTIANS),
    ),
    IPV6: (),
}
"""By family. IPv6 has one loopback address, which is not routed in, so it needs no rule."""


class LookAfterRules(SoleMessage, frozen=True):
    """To itself: see whether the chains are still there."""


class RulesLookedAfter(Message, frozen=True):
    """To itself: `made`: the families for which everything exists; `error` is empty on success."""

    made: tuple[str, ...]
    error: str


def look_after(rules: PacketRules, family: str, *, anew: bool) -> bool:
    """Make everything where a canary is gone, or `anew`; whether that was so. Raises PacketRulesError."""
    if not anew and all(rules.has_chain(family, canary) for canary in CANARIES):
        return False
    rules.ensure(family, CHAINS[family], RULES[family])
    return True


class PacketRulesActor(Actor):
    """See the module."""

    health_limit_ns: ClassVar[int | None] = LOOK_NS + 2 * PERIOD_NS

    def __init__(self, rules: PacketRules) -> None:
        super().__init__()
        self._rules = rules
        self._families: tuple[str, ...] = ()
        self._made = False
        self._looking = False
        self._said = ""

    def on_start(self) -> None:
        self._families = tuple(family for family in FAMILIES if self._rules.is_offered(family))
        if not self._families:
            self.log.info("No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain")
            return
        self.every(PERIOD_NS, LookAfterRules())
        self.ref.tell(LookAfterRules())

    @handles(LookAfterRules)
    def look(self, _: LookAfterRules) -> None:
        """Work: constant."""
        if self._looking:
            return
        self._looking = True
        anew = not self._made

        def work() -> RulesLookedAfter:
            made, errors = [], []
            for family in self._families:
                try:
                    if look_after(self._rules, family, anew=anew):
                        made.append(family)
                except PacketRulesError as error:
                    errors.append(str(error))
            return RulesLookedAfter(tuple(made), "; ".join(errors))

        lane = self.lane("packet-rules", size=1, per_key=1)
        self.attempt(
            lambda: lane.submit("packet-rules", work, deadline_ns=LOOK_NS),
            lambda done, error: done or RulesLookedAfter((), error),
        )

    @handles(RulesLookedAfter)
    def looked(self, message: RulesLookedAfter) -> None:
        """Work: constant."""
        self._looking = False
        for family in message.made:
            why = "they were gone" if self._made else "at the start"
            self.log.info("the iptables chains of a kubelet were made for %s, %s", family, why)
        if message.error and message.error != self._said:
            self.log.warning("the iptables chains of a kubelet cannot be made: %s", message.error)
        self._said = message.error
        self._made = self._made or not message.error
