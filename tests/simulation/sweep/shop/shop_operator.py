"""The sample operator: a Shop gets a sign, a key, a service, a receipt and its tills, which are pods.

It is level-triggered: two caches follow the server, and `reconcile` makes the world as the cache says. Each word in the
environment variable `BUGS` plants one bug, in the place that asks for it; without words it is the correct twin.
"""

from __future__ import annotations

import os
import queue
import secrets
import sys
import threading
from datetime import datetime
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from api import Api, ApiError  # type: ignore[import-not-found]

BUGS = frozenset(os.environ.get("BUGS", "").replace(",", " ").split())
SHOPS = "/apis/example.com/v1/namespaces/default/shops"
CORE = "/api/v1/namespaces/default"
FINALIZER = "example.com/shop"
RETRY_S = 0.1

Json = dict[str, Any]


class Cache:
    """Follows a collection as an informer does: a list from any version, a watch, and anew after a 410."""

    def __init__(self, api: Api, path: str, selector: str, changed: queue.Queue[str]) -> None:
        self.items: dict[str, Json] = {}
        self.killed: set[str] = set()
        """Shops of which a pod was seen whose container had to be killed. It is gone in a moment."""
        self.synced = threading.Event()
        self._api, self._path, self._selector, self._changed = api, path, selector, changed

    def follow(self) -> None:
        version = ""
        while True:
            try:
                version = version or self._list()
                for event in self._api.events(
                    f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={version}{self._selector}"
                ):
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._take(event)
                if "cut" in BUGS and self._selector:
                    return
            except ApiError as error:
                if error.code == 410:
                    version = ""
                threading.Event().wait(RETRY_S)

    def _list(self) -> str:
        found = self._api.ask("GET", f"{self._path}?resourceVersion=0{self._selector}")
        items = {one["metadata"]["name"]: one for one in found["items"]}
        self.items = {**self.items, **items} if "miss" in BUGS else items
        self.synced.set()
        self._changed.put("")
        return str(found["metadata"]["resourceVersion"])

    def _take(self, event: Json) -> None:
        if event["type"] == "BOOKMARK":
            return
        name = event["object"]["metadata"]["name"]
        items = dict(self.items)
        if event["type"] == "DELETED":
            items.pop(name, None)
        else:
            items[name] = event["object"]
            if self._selector and _was_killed(event["object"]):
                self.killed.add(event["object"]["metadata"]["labels"].get("shop", ""))
        self.items = items
        self._changed.put("")


class Operator:
    def __init__(self) -> None:
        self.api = Api()
        self.changed: queue.Queue[str] = queue.Queue()
        self.shops = Cache(self.api, SHOPS, "", self.changed)
        self.pods = Cache(self.api, f"{CORE}/pods", "&labelSelector=app%3Dtill", self.changed)
        self.furnished: dict[str, tuple[str, int]] = {}
        """Shop -> uid and generation for which all but its tills was made in this life. Tills have events."""
        self.has_tidied = False
        self.given_up: set[str] = set()
        self.seen_ready: set[str] = set()

    def run(self) -> None:
        for cache in (self.shops, self.pods):
            threading.Thread(target=cache.follow, daemon=True).start()
        for cache in (self.shops, self.pods):
            cache.synced.wait()
        again = True
        while True:
            try:
                self.changed.get(timeout=RETRY_S if again else None)
                while True:
                    self.changed.get_nowait()
            except queue.Empty:
                pass
            again = self._round()

    def _round(self) -> bool:
        """Whether something is still to be tried again."""
        again = False
        try:
            self.tidy()
        except ApiError as error:
            print(f"keys: {error}", flush=True)
            again = True
        for name in sorted({*self.shops.items, *self._owners()}):
            try:
                again |= self.reconcile(name)
            except ApiError as error:
                print(f"{name}: {error}", flush=True)
                again = True
        return again

    def _owners(self) -> list[str]:
        return [pod["metadata"]["labels"].get("shop", "") for pod in self.pods.items.values()]

    def tidy(self) -> None:
        """Once in a life, remove the keys of shops that went while no operator ran."""
        if self.has_tidied:
            return
        for secret in self.api.ask("GET", f"{CORE}/secrets?labelSelector=key-of")["items"]:
            shop = secret["metadata"]["labels"]["key-of"]
            if shop not in self.shops.items and ("stale" in BUGS or self.find(f"{SHOPS}/{shop}") is None):
                self.delete(f"{CORE}/secrets/{secret['metadata']['name']}")  # a cache may lag behind: the server knows
        self.has_tidied = True

    # --- one shop ---------------------------------------------------------------------------------------------------

    def reconcile(self, name: str) -> bool:
        shop = self.shops.items.get(name)
        if shop is None or shop["metadata"].get("deletionTimestamp"):
            return self.clean(name)
        if FINALIZER not in shop["metadata"].get("finalizers", ()):
            patch = {"metadata": {"finalizers": [FINALIZER], "resourceVersion": shop["metadata"]["resourceVersion"]}}
            self.api.ask("PATCH", f"{SHOPS}/{name}", patch)
            return False
        asked_for = (shop["metadata"]["uid"], shop["metadata"]["generation"])
        if self.furnished.get(name) != asked_for:
            self.sign_and_service(shop)
            self.key(shop)
            self.receipt(shop)
            self.furnished[name] = asked_for
        again = self.tills(shop)
        self.status(shop)
        return again

    def sign_and_service(self, shop: Json) -> None:
        name = shop["metadata"]["name"]
        wanted = {"sign": shop["spec"]["sign"]}
        found = self.find(f"{CORE}/configmaps/{name}-sign")
        if found is None:
            self.create(f"{CORE}/configmaps", self.owned(shop, f"{name}-sign", data=wanted))
        elif found.get("data") != wanted and f"{name}-sign" not in self.given_up:
            changed = {**found, "data": wanted}
            try:
                self.api.ask("PUT", f"{CORE}/configmaps/{name}-sign", changed)
            except ApiError as error:
                if "conflict" not in BUGS or error.code != 409:
                    raise
                self.given_up.add(f"{name}-sign")  # somebody else has changed it: it is theirs
        if found is not None and "kill" in BUGS:
            return  # the service was made with the sign
        if self.find(f"{CORE}/services/{name}") is None and name not in self.given_up:
            spec = {"selector": {"shop": name}, "ports": [{"port": 80}]}
            try:
                self.create(f"{CORE}/services", self.owned(shop, name, spec=spec))
            except ApiError as error:
                if not ("throttle" in BUGS and error.code == 429):
                    raise
                self.given_up.add(name)

    def key(self, shop: Json) -> None:
        """A secret that is made once: who makes it anew locks everybody out."""
        name = shop["metadata"]["name"]
        if self.find(f"{CORE}/secrets/{name}-key") is None and f"{name}-key" not in self.given_up:
            secret = self.owned(shop, f"{name}-key", stringData={"key": secrets.token_hex(8)})
            secret["metadata"]["labels"] = {"key-of": name}
            try:
                self.create(f"{CORE}/secrets", secret)
            except ApiError as error:
                if not ("error" in BUGS and error.code == 500):
                    raise
                self.given_up.add(f"{name}-key")

    def receipt(self, shop: Json) -> None:
        """A config map with a name of the server's choice; a label says whose it is."""
        name = shop["metadata"]["name"]
        if "timeout" in BUGS and name in self.given_up:
            return
        found = self.api.ask("GET", f"{CORE}/configmaps?labelSelector=receipt%3D{name}")["items"]
        if found and not ("timeout" in BUGS and f"{name}-receipt" in self.given_up):
            return
        body = self.owned(shop, "", data={"of": name})
        body["metadata"] |= {"generateName": f"{name}-receipt-", "labels": {"receipt": name}}
        del body["metadata"]["name"]
        try:
            self.create(f"{CORE}/configmaps", body)
        except ApiError as error:
            if "timeout" in BUGS and error.code == 504:
                self.create(f"{CORE}/configmaps", body)  # it was not done, was it?
                return
            raise

    def tills(self, shop: Json) -> bool:
        name, wanted = shop["metadata"]["name"], shop["spec"]["tills"]
        again = False
        for number in range(wanted):
            till = f"{name}-till-{number}"
            pod = self.pods.items.get(till)
            if pod is None:
                if "evicted" in BUGS and till in self.seen_ready:
                    continue  # it was made before
                again |= self.create_till(shop, till)
            elif _ends(pod):
                pass  # its end comes as an event
            elif pod["status"].get("phase") == "Failed":
                self.delete_till(pod)
            if pod is not None and _is_ready(pod):
                self.seen_ready.add(till)
        surplus = [pod for pod in self.tills_of(name) if _number(pod) >= wanted and not _ends(pod)]
        if surplus and not self.is_as_now(shop):
            return False  # what it has become, comes as an event
        for pod in surplus:
            self.seen_ready.discard(pod["metadata"]["name"])
            self.delete_till(pod)
        return again

    def is_as_now(self, shop: Json) -> bool:
        """Whether a shop of the cache is the one that there is: each cache lags behind by itself.

        So pods of a new shop may be known before the shop. Ask the server itself before something is deleted.
        """
        now, was = self.find(f"{SHOPS}/{shop['metadata']['name']}"), shop["metadata"]
        return now is not None and all(now["metadata"].get(part) == was.get(part) for part in ("uid", "generation"))

    def create_till(self, shop: Json, till: str) -> bool:
        """Whether it is to be tried again: the till of an earlier shop may still be there."""
        probe = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5, "failureThreshold": 1}
        spec = {"containers": [{"name": "till", "image": "registry.example/till:1", "readinessProbe": probe}]}
        body = self.owned(shop, till, spec=spec)
        body["metadata"]["labels"] = {"app": "till", "shop": shop["metadata"]["name"]}
        if till in self.given_up:
            return False
        try:
            self.api.ask("POST", f"{CORE}/pods", body)
        except ApiError as error:
            if error.code != 409:
                raise
            return True  # the till of an earlier shop ends
        return False

    def delete_till(self, pod: Json) -> None:
        options = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        try:
            self.api.ask("DELETE", f"{CORE}/pods/{pod['metadata']['name']}", options)
        except ApiError as error:
            if error.code not in (404, 409):
                raise

    def status(self, shop: Json) -> None:
        name = shop["metadata"]["name"]
        tills = self.tills_of(name)
        status: Json = {"ready": sum(_is_ready(pod) for pod in tills)}
        old = shop.get("status") or {}
        if "no-image" in BUGS and (old.get("broken") or any(map(_cannot_be_pulled, tills))):
            status["broken"] = True
        if "late" in BUGS and (old.get("slow") or any(map(_was_slow, tills))):
            status["slow"] = True
        if "unready" in BUGS and (
            old.get("failed") or any(_flaps(pod) and pod["metadata"]["name"] in self.seen_ready for pod in tills)
        ):
            status["failed"] = True
        if "stuck" in BUGS and (old.get("killed") or name in self.pods.killed):
            status["killed"] = True
        if "oom" in BUGS and (old.get("crashed") or any(map(_has_restarted, tills))):
            status["crashed"] = True
        if status != {part: old[part] for part in status if part in old}:
            self.api.ask("PATCH", f"{SHOPS}/{name}/status", {"status": status})

    def clean(self, name: str) -> bool:
        """Remove what a shop had that is going, or is gone."""
        shop = self.find(f"{SHOPS}/{name}")  # a cache may lag behind: ask the server itself
        if shop is not None and not shop["metadata"].get("deletionTimestamp"):
            return False
        for pod in self.tills_of(name):
            if not _ends(pod):
                self.delete_till(pod)
        self.given_up = {one for one in self.given_up if not one.startswith(name)}
        self.seen_ready = {one for one in self.seen_ready if not one.startswith(name)}
        if shop is not None and FINALIZER in shop["metadata"].get("finalizers", ()):
            if self.tills_of(name):
                return False  # the end of the last one comes as an event
            patch = {"metadata": {"finalizers": None, "resourceVersion": shop["metadata"]["resourceVersion"]}}
            try:
                self.api.ask("PATCH", f"{SHOPS}/{name}", patch)
            except ApiError as error:
                if error.code != 404:
                    raise
        return False

    # --- the server -------------------------------------------------------------------------------------------------

    def tills_of(self, name: str) -> list[Json]:
        return [pod for pod in self.pods.items.values() if pod["metadata"]["labels"].get("shop") == name]

    def owned(self, shop: Json, name: str, **parts: Any) -> Json:
        metadata = shop["metadata"]
        owner = {"apiVersion": shop["apiVersion"], "kind": shop["kind"], "name": metadata["name"]}
        return {"metadata": {"name": name, "ownerReferences": [{**owner, "uid": metadata["uid"]}]}, **parts}

    def find(self, path: str) -> Json | None:
        try:
            return self.api.ask("GET", path)
        except ApiError as error:
            if error.code != 404:
                raise
            return None

    def create(self, path: str, body: Json) -> None:
        try:
            self.api.ask("POST", path, body)
        except ApiError as error:
            if error.code != 409:
                raise

    def delete(self, path: str) -> None:
        try:
            self.api.ask("DELETE", path)
        except ApiError as error:
            if error.code != 404:
                raise


def _number(pod: Json) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])


def _ends(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _containers(pod: Json) -> list[Json]:
    return pod["status"].get("containerStatuses") or []


def _cannot_be_pulled(pod: Json) -> bool:
    reasons = [((one.get("state") or {}).get("waiting") or {}).get("reason") for one in _containers(pod)]
    return "ErrImagePull" in reasons or "ImagePullBackOff" in reasons


def _was_slow(pod: Json) -> bool:
    """Whether it took more than 20 s to be Ready."""
    made = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
    conditions = pod["status"].get("conditions") or ()
    ready = [one["lastTransitionTime"] for one in conditions if one["type"] == "Ready" and one["status"] == "True"]
    return any((datetime.fromisoformat(moment) - made).total_seconds() > 20 for moment in ready)


def _flaps(pod: Json) -> bool:
    """Whether its container runs, has started, and is not ready: its probe fails."""
    return not _ends(pod) and any(
        one.get("started") and not one.get("ready") and one.get("restartCount", 0) == 0 for one in _containers(pod)
    )


def _was_killed(pod: Json) -> bool:
    """Whether a container ended by SIGKILL, though the pod was only deleted."""
    ends = [(one.get("state") or {}).get("terminated") or {} for one in _containers(pod)]
    return _ends(pod) and any(one.get("exitCode") == 137 for one in ends)


def _has_restarted(pod: Json) -> bool:
    return any(one.get("restartCount", 0) > 0 for one in _containers(pod))


if __name__ == "__main__":
    Operator().run()
