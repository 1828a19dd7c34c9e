"""The name under which actors observe a digest that they make of secrets.

A record has other secrets, and so another digest would come of them in a replay. It notes the digest as something that
was seen. Since one could guess at a short secret with its digest, that is replaced like a secret, too.
"""

SECRET_DIGEST = "digest of secrets"
