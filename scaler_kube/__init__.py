"""The one door to kubernetes_asyncio: transport, errors by kind, list and watch, leases, events."""
