"""Why the volumes of a pod cannot be made: what the errors of this agent mean. Pure.

An error that no row knows is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from config.pods.verdicts.faults import Fault
from config.values.harmless_text import harmless_line

KNOWN_AT_MOST = 4096
NAME_AT_MOST = 200
CLAIM = "PersistentVolumeClaim"
_OF_CLUSTER = frozenset({"PersistentVolume", "ClusterTrustBundle"})
_KINDS: Mapping[str, str] = {
    "configmap": "ConfigMap",
    "secret": "Secret",
    "persistentvolumeclaim": CLAIM,
    "persistentvolume": "PersistentVolume",
    "clustertrustbundle.certificates.k8s.io": "ClusterTrustBundle",
}

_MISSING = re.compile(r'(?P<kind>[a-z0-9.]{1,60}) "(?P<name>[^"]{1,260})" not found')
_UNBOUND = re.compile(r"PVC (?P<claim>\S+) is not bound(?:: (?P<why>.+))?", re.DOTALL)
_ROWS: tuple[tuple[re.Pattern[str], Fault], ...] = (
    (
        re.compile(r"non-existent config key|references non-existent (config|secret) key"),
        Fault("MissingKey", "", "add the key, name one that is there, or mark it optional"),
    ),
    (
        re.compile(r"PVC \S+ is being deleted"),
        Fault("ClaimDeleted", "", "use another claim, or make this one again when it is gone"),
    ),
    (
        re.compile(r"pod is not owner"),
        Fault("ClaimOfAnother", "", "delete the claim that is in the way: the pod's controller makes its own"),
    ),
    (
        re.compile(r"is bound to another claim|has no claim \(claimRef"),
        Fault("ClaimNotBound", "", "delete the claim and make it again: its volume belongs to another one"),
    ),
    (
        re.compile(r"PV \S+ cannot be used on node"),
        Fault("VolumeElsewhere", "", "let the pod run on a node that the volume's nodeAffinity names"),
    ),
    (
        re.compile(r"volumeMode|volumeDevices"),
        Fault("VolumeMode", "", "use volumeMounts for a file system and volumeDevices for a block device"),
    ),
    (
        re.compile(r"hostPath type check failed"),
        Fault("HostPath", "", "make the path on the node, or give the volume the type of what is there"),
    ),
    (
        re.compile(r"driver name \S+ not found|no CSI driver|is not registered"),
        Fault("NoVolumeDriver", "", "install the driver on this node, or see why it does not register"),
    ),
)
_OTHER = Fault("Volume", "", "mend what the error names; it is tried again without an end")


def volume_fault(error: str) -> Fault:
    """What an error of the volumes of a pod means. Of several errors, the first that a row knows counts."""
    error = error[:KNOWN_AT_MOST]
    for missing in _MISSING.finditer(error):
        if (kind := _KINDS.get(missing["kind"])) is not None:
            name = harmless_line(missing["name"], NAME_AT_MOST)
            optional = ", or mark the reference optional" if kind in ("ConfigMap", "Secret") else ""
            create = "create it" if kind in _OF_CLUSTER else "create it in the namespace of the pod"
            cause = "MissingClaim" if kind == CLAIM else "MissingObject"
            return Fault(cause, f"a volume refers to the {kind} {name}, which does not exist", create + optional)
    if (unbound := _UNBOUND.search(error)) is not None:
        text = f"the PersistentVolumeClaim {harmless_line(unbound['claim'], NAME_AT_MOST)} has no volume yet"
        why = harmless_line((unbound["why"] or "").partition("\n")[0], NAME_AT_MOST)
        advice = (
            "make a PersistentVolume that fits, name a StorageClass with a provisioner, or see why that one is idle"
        )
        return Fault("ClaimNotBound", f"{text}: {why}" if why else text, advice)
    return next((fault for pattern, fault in _ROWS if pattern.search(error)), _OTHER)
