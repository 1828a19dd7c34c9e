"""Private keys of pods, each with the proof that its holder has it (KEP-4317).

RSA keys prove it by PSS and elliptic curves by ECDSA, both over the SHA-256 of the pod's UID. Ed25519 signs the UID
itself. Making an RSA key takes seconds: callers use a lane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurve

RSA_BITS = {"RSA3072": 3072, "RSA4096": 4096}
CURVES = {"ECDSAP256": "SECP256R1", "ECDSAP384": "SECP384R1", "ECDSAP521": "SECP521R1"}


class PodKey(msgspec.Struct, frozen=True):
    """`private`: PKCS 8 in PEM; `public`: SubjectPublicKeyInfo in DER; `proof`: the signature."""

    private: bytes
    public: bytes
    proof: bytes

    def __repr__(self) -> str:
        return "PodKey(...)"


def new_pod_key(key_type: str, pod_uid: str) -> PodKey:
    """Make a key for a pod. Raises ValueError for a type that the API does not have."""
    # A heavy import, which nodes without such pods do not need.
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    said, signed = pod_uid.encode(), hashes.SHA256()
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
    if key_type in RSA_BITS:
        key = rsa.generate_private_key(public_exponent=65537, key_size=RSA_BITS[key_type])
        # The salt that Go takes by default: as long as fits.
        proof = key.sign(said, padding.PSS(padding.MGF1(signed), padding.PSS.MAX_LENGTH), signed)
    elif key_type in CURVES:
        curve: EllipticCurve = getattr(ec, CURVES[key_type])()
        key = ec.generate_private_key(curve)
        proof = key.sign(said, ec.ECDSA(signed))
    elif key_type == "ED25519":
        key = ed25519.Ed25519PrivateKey.generate()
        proof = key.sign(said)
    else:
        raise ValueError(f"unknown key type {key_type!r}")
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return PodKey(private, public, proof)
