"""Authentication and authorization of the node's server (spec 17.1, 17.2, 11.4).

Open `gate.py` first: it answers 401, 403 or the user. `reviews.py` asks the API server and remembers its answers.
`serving_certificate.py` and `self_signed.py` are the server's own certificate.
"""
