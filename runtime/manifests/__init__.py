"""runtime/manifests."""
