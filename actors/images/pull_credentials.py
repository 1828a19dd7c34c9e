"""`CredentialFinder`: the part of `ImagePullActor` that finds credentials for a pull (spec 6.3).

The node's own files are read when a flight begins. Without an answer of the disk there are none, so that no pull is
delayed. The node's credential programs are asked as soon as there is a flight for them. Nothing here waits for either:
`credentials_read` and `programs_heard` follow.
"""

from __future__ import annotations

from actors.images.pull_flights import (
    AskProvidersAgain,
    CredentialPrograms,
    Flight,
    FlightKey,
    FlightTag,
    NodeCredentialsRead,
)
from actors.images.record_keeping import PullRecords, RecordKeeper
from actors.kernel import ActorRef, handles
from actors.messages.images import FindCredentials, ProviderCredentials, PullImage
from config.credentials.docker_config import full_name
from runtime.metrics.meters import UNMEASURED, Meters
from runtime.state.docker_config_files import DockerConfigFiles, NodeCredentials

SECOND_NS = 1_000_000_000
CREDENTIALS_LIMIT_NS = 5 * SECOND_NS
ASK_AGAIN_NS = 300 * SECOND_NS
"""Longer than a credential program may take. After this its answer is lost; it is asked again."""


class CredentialFinder(RecordKeeper):
    """See the module.

    `docker_config` None: the node has no credentials; `programs` None: it has no programs.
    """

    def __init__(
        self,
        records: PullRecords | None,
        events: ActorRef,
        meters: Meters = UNMEASURED,
        docker_config: DockerConfigFiles | None = None,
        programs: CredentialPrograms | None = None,
    ) -> None:
        super().__init__(records, events, meters)
        self._docker_config = docker_config
        self._programs = programs
        self._problems: tuple[str, ...] = ()
        self._flights: dict[FlightKey, Flight] = {}

    def credentials_read(self, flight: Flight, node: NodeCredentials) -> None:
        """The flight may go on."""
        raise NotImplementedError

    def programs_heard(self, flight: Flight) -> None:
        """The programs have answered; the flight knows it."""
        raise NotImplementedError

    def _forget(self, flight: Flight) -> None:
        del self._flights[flight.key]
        if flight.asked:
            self.cancel_timer(flight.key)

    # --- the node's files -------------------------------------------------------------------------------------------

    def _read_credentials(self, flight: Flight) -> None:
        files, key = self._docker_config, flight.key
        if files is None:
            self.credentials_read(flight, NodeCredentials())
            return
        lane = self.lane("docker-config", size=1, per_key=1)
        self.attempt(
            lambda: lane.submit("docker-config", files.read, deadline_ns=CREDENTIALS_LIMIT_NS),
            lambda found, error: NodeCredentialsRead(
                key, found or NodeCredentials((), (f"they cannot be read: {error}",))
            ),
        )

    @handles(NodeCredentialsRead)
    def node_credentials_read(self, message: NodeCredentialsRead) -> None:
        found = message.found
        if found.problems and found.problems != self._problems:
            self.log.warning("credentials of the node for registries: %s", "; ".join(found.problems))
        self._problems = found.problems
        self.credentials_read(self._flights[message.key], found)

    # --- credential programs ----------------------------------------------------------------------------------------

    def _may_open_by_account(self, message: PullImage, image: str) -> bool:
        """Whether the pod may use an image that is here if a program gives something for its service account."""
        if self._programs is None or not self._programs.want_token(image):
            return False
        secrets = [each.secret for each in message.secrets]
        namespace, name = message.pod.metadata.namespace, message.pod.spec.service_account_name or ""
        return self._book.may_open_by_account(image, message.present, secrets, namespace, name)

    def _ask_programs(self, flight: Flight) -> None:
        if self._programs is None or flight.asked or not self._programs.are_for(flight.image):
            return
        flight.asked = True
        first = next(iter(flight.waiters.values())).request
        tag = FlightTag(flight.key, flight.number)
        self._programs.actor.tell(FindCredentials(self.ref, tag, first.pod, full_name(flight.image), first.worker))
        self.after(ASK_AGAIN_NS, AskProvidersAgain(tag), key=flight.key)

    @handles(AskProvidersAgain)
    def ask_again(self, message: AskProvidersAgain) -> None:
        flight = self._asked_by(message.tag)
        if flight is not None and flight.waiters:
            flight.asked = False
            self._ask_programs(flight)

    @handles(ProviderCredentials)
    def programs_answered(self, message: ProviderCredentials) -> None:
        flight = self._asked_by(message.tag)
        if flight is not None:
            self.cancel_timer(flight.key)
            flight.hear(message, self.now_ns())
            self.programs_heard(flight)

    def _asked_by(self, tag: object) -> Flight | None:
        """The flight that waits for the answer; None: it is over, or has heard."""
        flight = self._flights.get(tag.key) if isinstance(tag, FlightTag) else None
        return None if flight is None or flight.heard or tag != FlightTag(flight.key, flight.number) else flight
