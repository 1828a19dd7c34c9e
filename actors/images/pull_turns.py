"""`PullTurns`: which pull begins next, within the limits of the node (spec 6.2). Pure.

With `serializeImagePulls` one flight is in the air at a time, otherwise up to `maxParallelImagePulls`, and they begin
no faster than `registryPullQPS`. Pods take turns, critical ones first: a pod with 2,000 images delays the pull of
another by one pull. A flight that several pods wait for has a place with each, and begins in the first of their turns.
"""

from __future__ import annotations

from actors.images.pull_flights import Flight, PullLimits
from config.objects import Pod
from config.pods.identity import display_name, is_critical
from runtime.io.fair_queue import FairQueue


class PullTurns:
    """See the module. `wait_ns`: how long the rate of pulls keeps the next flight waiting; 0: it does not."""

    def __init__(self, limits: PullLimits, now_ns: int) -> None:
        self._limits = limits
        self._tokens = limits.rate.full(now_ns)
        self._queue: FairQueue[tuple[Pod, Flight]] = FairQueue()
        self._in_the_air: dict[int, Flight] = {}
        """By number, the one that has been there for longest first."""
        self.wait_ns = 0

    def wait(self, flight: Flight) -> None:
        """The flight may begin in the turn of any pod that waits for it.

        If it resumes, it goes before others of the pod.
        """
        for waiter in flight.waiters.values():
            self.join(flight, waiter.request.pod)

    def join(self, flight: Flight, pod: Pod) -> None:
        """The flight may begin in a turn of this pod too."""
        uid = pod.metadata.uid
        if flight.may_begin and uid not in flight.places:
            flight.places.add(uid)
            self._queue.append(uid, (pod, flight), urgent=is_critical(pod), ahead=flight.resumes)

    def begin(self, now_ns: int) -> Flight | None:
        """The flight whose turn it is, which is in the air now; None: none may begin."""
        self.wait_ns = 0
        while len(self._in_the_air) < self._limits.at_once and (first := self._queue.first()) is not None:
            pod, flight = first
            uid = pod.metadata.uid
            if not flight.may_begin or uid not in flight.pods:
                self._queue.drop()
                flight.places.discard(uid)
                continue
            if not flight.resumes:
                self._tokens, self.wait_ns = self._limits.rate.take(self._tokens, now_ns)
                if self.wait_ns:
                    return None
            self._queue.take()
            flight.places.discard(uid)
            flight.resumes, flight.turn_of = False, (uid, display_name(pod))
            self._in_the_air[flight.number] = flight
            return flight
        return None

    def over(self, flight: Flight) -> None:
        """The flight is not in the air any more. Pods that wait come before the one whose turn it was."""
        del self._in_the_air[flight.number]
        self._queue.pass_turn(flight.turn_of[0])

    def why_not_yet(self, flight: Flight) -> str:
        """Why a requested pull has not begun, as text for people: whose turn it is."""
        if flight.is_held:
            return "the credential programs for it have not answered yet"
        count = len(self._in_the_air)
        if count < self._limits.at_once:
            return "the rate of pulls allows none now"
        ahead = next(iter(self._in_the_air.values()))
        if count == 1:
            return f"{ahead.image} comes first, in the turn of pod {ahead.turn_of[1]}"
        return f"{ahead.image} and {count - 1} more come first, it in the turn of pod {ahead.turn_of[1]}"
