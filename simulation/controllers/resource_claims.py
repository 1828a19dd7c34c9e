"""The controller of claims: makes them from templates, and takes devices back when nobody uses them.

Plays the part of `resourceclaim-controller`. A claim that it makes for a pod has a name that begins with those of the
pod and of its entry, and belongs to the pod. The pod's status tells the name. A pod that came to its node without the
scheduler may use its claims, too.

A pod that has ended, or went before it had a node, uses its claims no longer. A claim without users loses its devices,
and one that was made for such a pod goes. Errors of the server are events of the pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.kernel.dispatcher import Dispatcher
from actors.kernel.timers import Cancellable
from config.values.api_time import api_time
from simulation.apiserver.requests.bodies import MERGE, STRATEGIC
from simulation.apiserver.requests.calls import ApiUser
from simulation.apiserver.server import ApiServer
from simulation.apiserver.store.store import DELETED, Version
from simulation.apiserver.strategies.events import event_about
from simulation.controllers.claim_books import claim_names
from simulation.controllers.claim_writes import PROTECTION, claim_path, claims_path, owned_by
from simulation.controllers.scheduler import CLAIMS
from simulation.controllers.store_follower import StoreFollower, ask

Json = Mapping[str, Any]
_Key = tuple[str, str]
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"
MADE_FOR = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim from a template: the entry of the pod."""
LONGEST_BASE = 57
"""Of a name that is generated: a hyphen and five characters come behind it."""
_USER = ApiUser("system:kube-controller-manager", ("system:masters", "system:authenticated"))


def base_name(pod: str, entry: str) -> str:
    """What the name of a claim begins with. Of long names both parts lose the same share."""
    whole = len(pod) + 1 + len(entry)
    if whole <= LONGEST_BASE:
        return f"{pod}-{entry}-"
    return f"{pod[: len(pod) * LONGEST_BASE // whole]}-{entry[: len(entry) * LONGEST_BASE // whole]}-"


def is_done(pod: Json) -> bool:
    """Whether the pod uses its claims no longer."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return True
    return "deletionTimestamp" in pod["metadata"] and not pod["spec"].get("nodeName")


def made_for(claim: Json) -> str:
    """The UID of the pod that a claim was made for, or ""."""
    owners = claim["metadata"].get("ownerReferences") or ()
    return next((str(each["uid"]) for each in owners if each.get("controller") and each["kind"] == "Pod"), "")


class ResourceClaims:
    """See the module. Begins with `start`, ends with `stop`; both may be called from any thread."""

    def __init__(self, server: ApiServer, clock: Dispatcher) -> None:
        self._server = server
        self._clock = clock
        sinks = {CLAIMS: self._claim, TEMPLATES: self._template, "pods": self._pod}
        self._follower = StoreFollower(server, clock, sinks, self._forget)
        self._pods: dict[_Key, None] = {}
        """To be looked at, and those whose claims could not be made."""
        self._claims: dict[_Key, None] = {}
        self._waiting: dict[_Key, str] = {}
        self._users: dict[str, dict[_Key, None]] = {}
        """UID of a pod -> claims that are reserved for it, or were made for it."""
        self._turn: Cancellable | None = None

    def start(self) -> None:
        """Follow the store from now on, beginning with all there is."""
        self._follower.start()

    def stop(self) -> None:
        """Make no claims, and take none back."""
        with self._server.lock:
            self._follower.stop()

    def _forget(self) -> None:
        for kept in (self._pods, self._claims, self._waiting, self._users):
            kept.clear()
        self._turn = None

    # --- what is told by the store; called under its lock -----------------------------------------------------------

    def _pod(self, kind: str, version: Version) -> None:
        pod = version.object
        if kind == DELETED or is_done(pod):
            self._waiting.pop(version.key, None)
            self._look_at(claims=self._users.get(version.uid, {}))
        elif pod["spec"].get("resourceClaims"):
            self._look_at(pods={version.key: None})

    def _claim(self, kind: str, version: Version) -> None:
        claim = version.object
        uids = {str(each["uid"]) for each in (claim.get("status") or {}).get("reservedFor") or ()}
        for uid in sorted(uids | {made_for(claim)} - {""}):
            users = self._users.setdefault(uid, {})
            if kind == DELETED:
                users.pop(version.key, None)
                if not users:
                    del self._users[uid]
            else:
                users[version.key] = None
        if kind != DELETED:
            self._look_at(claims={version.key: None})

    def _template(self, kind: str, version: Version) -> None:
        self._look_at(pods=dict.fromkeys(self._waiting))

    def _look_at(self, *, pods: Mapping[_Key, None] = {}, claims: Mapping[_Key, None] = {}) -> None:
        self._pods |= pods
        self._claims |= claims
        if self._turn is None and (pods or claims):
            life = self._follower.life
            self._turn = self._clock.schedule(0, lambda: self._work(life))

    def _work(self, life: int) -> None:
        with self._server.lock:
            if life != self._follower.life:
                return
            pods, self._pods = self._pods, {}
            claims, self._claims = self._claims, {}
            self._turn = None
            for key in pods:
                self._make_claims(key)
            for key in claims:
                self._clean_up(key)

    # --- claims from templates --------------------------------------------------------------------------------------

    def _make_claims(self, key: _Key) -> None:
        version = self._server.store.get("pods", *key)
        if version is None or is_done(version.object) or "deletionTimestamp" in version.object["metadata"]:
            return
        pod = version.object
        if None in claim_names(pod):
            made = {each["name"] for each in (pod.get("status") or {}).get("resourceClaimStatuses") or ()}
            faults = [
                fault
                for entry in pod["spec"]["resourceClaims"]
                if entry.get("resourceClaimTemplateName") and entry["name"] not in made
                if (fault := self._make(pod, entry))
            ]
            if faults:
                self._complain(key, pod, faults[0])
                return
        self._waiting.pop(key, None)
        if pod["spec"].get("nodeName"):
            self._reserve(pod)

    def _reserve(self, pod: Json) -> None:
        """Let a pod that has a node use its claims, as far as they have devices."""
        namespace, uid = pod["metadata"]["namespace"], pod["metadata"]["uid"]
        user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": uid}
        for name in claim_names(pod):
            version = self._server.store.get(CLAIMS, namespace, name or "")
            status = {} if version is None else version.object.get("status") or {}
            users = status.get("reservedFor") or ()
            if version is None or not status.get("allocation") or uid in (each["uid"] for each in users):
                continue
            body = {**version.object, "status": {**status, "reservedFor": [*users, user]}}
            ask(self._server, _USER, "PUT", f"{claim_path(version.object)}/status", body)

    def _make(self, pod: Json, entry: Json) -> str:
        """Make one claim and tell its name; why not, or ""."""
        metadata, name = pod["metadata"], entry["name"]
        namespace = metadata["namespace"]
        claim = self._made_before(pod, name)
        if not claim:
            template = self._server.store.get(TEMPLATES, namespace, entry["resourceClaimTemplateName"])
            if template is None:
                wanted = entry["resourceClaimTemplateName"]
                return f'resource claim template "{wanted}": resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            spec = template.object["spec"]
            about = spec.get("metadata") or {}
            claim = f"{base_name(metadata['name'], name)}{self._clock.new_uid()[:5]}"
            body = {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {
                    "name": claim,
                    "generateName": base_name(metadata["name"], name),
                    "labels": about.get("labels") or {},
                    "annotations": {**(about.get("annotations") or {}), MADE_FOR: name},
                    "ownerReferences": [owned_by(pod)],
                },
                "spec": spec["spec"],
            }
            fault = ask(self._server, _USER, "POST", claims_path(namespace), body)
            if fault:
                return f'create ResourceClaim for "{name}": {fault}'
        told = {"resourceClaimStatuses": [{"name": name, "resourceClaimName": claim}]}
        path = f"/api/v1/namespaces/{namespace}/pods/{metadata['name']}/status"
        return ask(self._server, _USER, "PATCH", path, {"status": told}, STRATEGIC)

    def _made_before(self, pod: Json, entry: str) -> str:
        """The name of a claim that was made for the entry, and not told."""
        for namespace, name in self._users.get(pod["metadata"]["uid"], ()):
            version = self._server.store.get(CLAIMS, namespace, name)
            annotations = {} if version is None else version.object["metadata"].get("annotations") or {}
            if annotations.get(MADE_FOR) == entry:
                return name
        return ""

    def _complain(self, key: _Key, pod: Json, fault: str) -> None:
        if self._waiting.get(key) == fault:
            return
        self._waiting[key] = fault
        metadata = pod["metadata"]
        name = f"{metadata['name']}.{self._clock.wall_ns():x}-claims"
        said = {"type": "Warning", "reason": "FailedResourceClaimCreation", "message": f"PodResourceClaim: {fault}"}
        now = api_time(self._clock.wall_ns()) or ""
        event = event_about(pod, name, "resource_claim", now, **said, action="")
        ask(self._server, _USER, "POST", f"/api/v1/namespaces/{metadata['namespace']}/events", event)

    # --- claims that nobody uses ------------------------------------------------------------------------------------

    def _clean_up(self, key: _Key) -> None:
        version = self._server.store.get(CLAIMS, *key)
        if version is None:
            return
        claim = version.object
        status = claim.get("status") or {}
        users = [*(status.get("reservedFor") or ())]
        left = [each for each in users if each.get("resource") != "pods" or self._is_used_by(key, each)]
        if len(left) < len(users) or (status.get("allocation") and not left):
            status = {
                name: part for name, part in status.items() if name not in ("reservedFor", "allocation", "devices")
            }
            if left:
                status = {**(claim["status"]), "reservedFor": left}
            if ask(self._server, _USER, "PUT", f"{claim_path(claim)}/status", {**claim, "status": status}):
                return  # The watch shows what has changed meanwhile.
        if not left:
            self._release(key)

    def _is_used_by(self, key: _Key, user: Json) -> bool:
        pod = self._server.store.get("pods", key[0], str(user["name"]))
        return pod is not None and pod.uid == user["uid"] and not is_done(pod.object)

    def _release(self, key: _Key) -> None:
        """A claim without devices may go, and does if its pod is done."""
        version = self._server.store.get(CLAIMS, *key)
        if version is None:
            return
        claim, metadata = version.object, version.object["metadata"]
        finalizers = metadata.get("finalizers") or []
        if PROTECTION in finalizers:
            others = [each for each in finalizers if each != PROTECTION]
            body = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": others or None}}
            ask(self._server, _USER, "PATCH", claim_path(claim), body, MERGE)
        uid = made_for(claim)
        if uid and "deletionTimestamp" not in metadata and self._pod_is_over(claim, uid):
            ask(self._server, _USER, "DELETE", claim_path(claim))

    def _pod_is_over(self, claim: Json, uid: str) -> bool:
        name = next(each["name"] for each in claim["metadata"]["ownerReferences"] if each["uid"] == uid)
        pod = self._server.store.get("pods", claim["metadata"]["namespace"], name)
        return pod is None or pod.uid != uid or is_done(pod.object)
