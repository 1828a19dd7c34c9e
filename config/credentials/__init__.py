"""Credentials and addresses: kubeconfig documents and docker configurations.

Open `kubeconfig.py` first. `image_providers.py` and `provider_answers.py` are about programs with credentials for
images. `masked.py` removes secrets from texts of other programs, and `masked_urls.py` from
addresses, before they are shown.
"""
