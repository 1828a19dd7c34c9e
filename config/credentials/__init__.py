"""Credentials and addresses: kubeconfig documents and docker configurations.

Open `kubeconfig.py` first. `masked.py` removes secrets from texts of other programs, and `masked_urls.py` from
addresses, before they are shown.
"""
