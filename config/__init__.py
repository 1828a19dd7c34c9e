"""Floor 1: what a node is told. API objects, KubeletConfiguration, kubeconfig, manifests.

`objects` has the structs, `documents` reads them, `validation` checks pods. Open `manifests.py` for static pods and
`start_configuration.py` for all that an agent is told at its start. Knows nothing of the floors above.
"""
