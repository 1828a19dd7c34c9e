"""Keys of pods: each type that the API has, with a proof that its public key verifies."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from runtime.state.pod_keys import new_pod_key

UID = "5d8f6a0e-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("kind", "size"),
    [("RSA3072", 3072), ("RSA4096", 4096), ("ECDSAP256", 256), ("ECDSAP384", 384), ("ECDSAP521", 521), ("ED25519", 0)],
)
# (spec 17.7.3)
def test_a_key_is_of_its_type_and_proves_that_its_holder_has_it(kind: str, size: int) -> None:
    made = new_pod_key(kind, UID)
    private = serialization.load_pem_private_key(made.private, None)
    public = serialization.load_der_public_key(made.public)
    plain = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    assert private.public_key().public_bytes(*plain) == made.public
    assert made.private.startswith(b"-----BEGIN PRIVATE KEY-----\n")
    said, signed = UID.encode(), hashes.SHA256()
    match public:
        case rsa.RSAPublicKey():
            public.verify(made.proof, said, padding.PSS(padding.MGF1(signed), padding.PSS.AUTO), signed)
            assert public.key_size == size
        case ec.EllipticCurvePublicKey():
            public.verify(made.proof, said, ec.ECDSA(signed))
            assert public.key_size == size
        case ed25519.Ed25519PublicKey():
            public.verify(made.proof, said)
        case _:
            raise AssertionError(public)


def test_an_unknown_type_is_refused_and_no_key_is_shown() -> None:
    with pytest.raises(ValueError, match="unknown key type 'DSA'"):
        new_pod_key("DSA", UID)
    made = new_pod_key("ED25519", UID)
    assert "PRIVATE" not in repr(made)
    assert str(made.private) not in repr(made)
