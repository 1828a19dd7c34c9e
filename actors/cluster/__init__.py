"""What the node reads from its cluster: ConfigMaps and Secrets, services, RuntimeClasses, tokens.

Open `list_watch.py` first: it follows API objects. `object_cache.py` holds the ConfigMaps and Secrets that pods refer
to. `cache.py` holds services and RuntimeClasses; `service_variables.py` makes variables of services for containers.
`token.py` holds the tokens of service accounts. `trust_bundles.py` holds the cluster's trust anchors,
`pod_certificates.py` the certificates of pods. `fair_turns.py`, `fair_calls.py` and
`pod_jobs.py` see to it that no pod holds up the others.
"""
