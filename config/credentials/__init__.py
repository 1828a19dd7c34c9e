"""Credentials and addresses: kubeconfig documents and docker configurations.

Open `kubeconfig.py` first. `masked_urls.py` hides what lets somebody in before an address is shown.
"""
