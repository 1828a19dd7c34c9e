"""Users of a test's cluster: a token for each, and a kubeconfig that shows it.

The API server signs the token of a service account, so it is valid while the account exists. Any other user gets a
random token, without further checks: whoever shows it is that user.
"""

from __future__ import annotations

import os
from dataclasses import replace

from config.credentials.kubeconfig import Pem, kubeconfig_document
from runtime.files.whole_file import write_whole
from simulation.apiserver.access.authentication import ACCOUNT_PREFIX, user_named
from simulation.apiserver.requests.answers import JsonAnswer
from simulation.apiserver.requests.calls import ApiRequest
from simulation.apiserver.server import ApiServer
from simulation.apiserver.verbs.token_request import LONGEST_S
from simulation.cluster.orders import OrderError


class Users:
    """`directory`: where kubeconfigs are written, for their owner alone.

    `url`: of the server. `authority`: the PEM text of its authority, or "".
    """

    def __init__(self, server: ApiServer, directory: str, url: str, authority: str) -> None:
        self._server = server
        self._directory = directory
        self._url = url
        self._authority = Pem(data=authority)
        self._made = 0

    def act_as(self, name: str, groups: tuple[str, ...]) -> str:
        """Write a kubeconfig for that user, and return its path. Raises OrderError."""
        if name.startswith(ACCOUNT_PREFIX):
            if groups:
                raise OrderError(f"the groups of a service account are fixed; leave them out for {name}")
            token = self._token_of_account(name)
        else:
            user = user_named(name)
            token = self._server.admit(replace(user, groups=tuple(dict.fromkeys((*groups, *user.groups)))))
        self._made += 1
        path = os.path.join(self._directory, f"user-{self._made}.kubeconfig")
        self.write(path, name, token)
        return path

    def write(self, path: str, user: str = "", token: str = "") -> None:
        """Write a kubeconfig. Raises OSError."""
        document = kubeconfig_document(
            self._url, name="actorlet", user=user, token=token, certificate_authority=self._authority
        )
        write_whole(path, document, lasting=False)

    def _token_of_account(self, name: str) -> str:
        namespace, _, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
        if not namespace or not account:
            raise OrderError(f"{name!r} is not a service account; write {ACCOUNT_PREFIX}NAMESPACE:NAME")
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        answer = self._server.handle(ApiRequest("POST", path, body={"spec": {"expirationSeconds": LONGEST_S}}))
        assert isinstance(answer, JsonAnswer)
        if answer.code >= 400:
            raise OrderError(f"there is no token for {name}: {answer.value['message']}; create the account first")
        token: str = answer.value["status"]["token"]
        return token
