"""Who has to go when the node runs short, and when it does: rules over samples, pure (spec 7).

`thresholds` reads the configuration, `pressure` follows the signals from sample to sample, `reclaim` says what is freed
before a pod has to go, `ranking` who goes first, `local_limits` who has used more of the disk than it may, and `words`
what people are told. The effects are `actors.eviction.manager`.
"""
