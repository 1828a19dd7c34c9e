"""Floor 1: the input of a node. API objects, KubeletConfiguration, kubeconfig, manifests.

`objects` has the structs, `documents` reads them, `validation` checks pods. Open `manifests.py` for static pods and
`start_configuration.py` for the settings at the start of an agent. Imports nothing of the floors above.
"""
