"""The names of kubelet 1.36: metrics, events, reasons, conditions.

Data, written from upstream, and tests against it.

A name is used by this agent, or listed with a reason: metrics in `runtime/metrics/absent.py` (shown in
`docs/reference/metrics.md`), the others in `docs/reference/kubelet-names.md`.
"""
