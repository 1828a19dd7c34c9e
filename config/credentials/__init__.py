"""Credentials and addresses: kubeconfig documents and docker configurations.

Open `kubeconfig.py` first. `masked.py` takes secrets out of texts of others, `masked_urls.py` out of
addresses, before they are shown.
"""
