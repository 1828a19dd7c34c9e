"""Whether a pod may use an image on the node without new credentials (spec 6.4). Pure.

If not, it has to show credentials to the registry.
"""

from __future__ import annotations

import enum

import msgspec

from actors.model.pull_records import Grants, PullAccount, PulledRecord, PullSecret
from config.credentials.docker_config import full_name

SECRETS_AT_MOST = 100
"""A record that has so many is not extended by looks alone."""


class Access(enum.Enum):
    """What a look at the records comes to. The values are labels of a metric."""

    BY_POLICY = "credentialPolicyAllowed"
    BY_RECORD = "credentialRecordFound"
    MUST_AUTHENTICATE = "mustAuthenticate"
    UNKNOWN = "error"

    @property
    def is_open(self) -> bool:
        return self in (Access.BY_POLICY, Access.BY_RECORD)


class Shown(msgspec.Struct, frozen=True):
    """A pod's credentials for an image: secrets, or a service account.

    The account is named when a credential program gave something for it.
    """

    secrets: tuple[PullSecret, ...] = ()
    account: PullAccount | None = None


def access_of(record: PulledRecord | None, image: str, shown: Shown) -> tuple[Access, Grants | None]:
    """What the record says of a pod that has this for the image; with what the record then has to get.

    A secret that has opened the image opens it again, also when its content has changed since. Content that has opened
    it opens it again, also in another secret. Both are noted, so that the next change counts, too. A service account
    that has opened it opens it again.
    """
    known = None if record is None else record.credential_mapping.get(full_name(image))
    if known is None:
        return Access.MUST_AUTHENTICATE, None
    if known.node_pods_accessible:
        return Access.BY_RECORD, None
    hashes = {each.credential_hash for each in known.kubernetes_secrets if each.credential_hash}
    places = {each.place for each in known.kubernetes_secrets}
    for secret in shown.secrets:
        if secret.credential_hash in hashes or secret.place in places:
            is_new = secret not in known.kubernetes_secrets and len(known.kubernetes_secrets) < SECRETS_AT_MOST
            return Access.BY_RECORD, Grants((secret,)) if is_new else None
    if shown.account in known.kubernetes_service_accounts:
        return Access.BY_RECORD, None
    return Access.MUST_AUTHENTICATE, None
