"""The signer of the embedded API server: signs approved certificate requests.

It follows the requests in the store, and signs those of nodes with the server's own authority. These are serving
certificates (`kubernetes.io/kubelet-serving`) and client certificates, each for as long as `lasts` says. Approval is
for people (`kubectl certificate approve`), and for tests. An unsignable request is marked as failed, with the reason.
"""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from simulation.apiserver.front.tls import LASTS, Authority
from simulation.apiserver.requests.bodies import MERGE
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.status import Json
from simulation.apiserver.store.store import DELETED, Version
from simulation.controllers.store_follower import StoreFollower, ask

SERVING = "kubernetes.io/kubelet-serving"
CLIENTS = ("kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kube-apiserver-client")
REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_USER = ApiUser("system:kube-controller-manager", ("system:masters", "system:authenticated"))


class Signer:
    """See the module. Begins with `start`, ends with `stop`; both may be called from any thread."""

    def __init__(self, server: ApiServer, clock: Dispatcher, authority: Authority, lasts: timedelta = LASTS) -> None:
        self._server = server
        self._clock = clock
        self._authority = authority
        self._lasts = lasts
        self._follower = StoreFollower(server, clock, {REQUESTS: self._seen})
        self.start, self.stop = self._follower.start, self._follower.stop

    def _seen(self, kind: str, version: Version) -> None:
        """Told by the store, under its lock."""
        if kind != DELETED and _is_to_be_signed(version.object):
            self._clock.schedule(0, lambda: self._sign(version.object))

    def _sign(self, request: Json) -> None:
        spec, status = request["spec"], request.get("status") or {}
        try:
            pem = base64.b64decode(spec["request"], validate=True)
            is_server, wall_ns = spec["signerName"] == SERVING, self._clock.wall_ns()
            made = self._authority.sign(pem, server=is_server, wall_ns=wall_ns, lasts=self._lasts)
            status = {**status, "certificate": base64.b64encode(made.encode()).decode()}
        except ValueError as error:
            failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": str(error)}
            status = {**status, "conditions": [*(status.get("conditions") or []), failed]}
        name = request["metadata"]["name"]
        body: dict[str, Any] = {
            "metadata": {"resourceVersion": request["metadata"]["resourceVersion"]},
            "status": status,
        }
        path = f"/apis/certificates.k8s.io/v1/certificatesigningrequests/{name}/status"
        ask(self._server, _USER, "PATCH", path, body, MERGE)


def _is_to_be_signed(request: Json) -> bool:
    status = request.get("status") or {}
    decided = {each["type"] for each in status.get("conditions") or []}
    ours = request["spec"].get("signerName") in (SERVING, *CLIENTS)
    return ours and not status.get("certificate") and "Approved" in decided and not decided & {"Denied", "Failed"}
