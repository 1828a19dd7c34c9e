"""Simulated clusters for other people's tests: whole agents on simulated nodes, behind an API server over HTTP.

`with cluster(nodes=3) as c:` starts one in a process of its own; `c.kubeconfig` is for any client of Kubernetes.
`docs/testing-with-actorlet.md` is for users. What is imported here is the side of the test, and next to nothing.
"""

from simulation.cluster.handle import Cluster, ClusterError, Load, cluster

__all__ = ["Cluster", "ClusterError", "Load", "cluster"]
