"""What changes objects by itself, as the controllers of a control plane do.

`garbage_collector` ends what is owned, `namespaces` fills and empties namespaces, `event_expiry` ends old events.
`node_monitor` gives up silent nodes, `quota_usage` counts what quotas limit, `definitions` serves what is defined.
`role_aggregation` puts roles together, and `storage_protection` lets go of what nobody uses.

Each but the first is told after each stored write of its kind (`pipeline.context.Follower`).
"""
