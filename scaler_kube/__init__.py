"""The one door to Kubernetes; nothing outside this package touches the client library.

| Module | Public names | For |
|---|---|---|
| `client` | `connect`, `KubeClient`, `Listing`, `DryRun`, `FieldConflicts` | verbs on decoded JSON documents |
| `access` | `InCluster`, `KubeConfig`, `Endpoint` | where the server is and who we are |
| `transport` | `Document`, `Timeouts` | one request, with deadlines |
| `errors` | `KubeError` and its kinds, `AccessError` | what can go wrong, as the caller must tell it apart |
| `resources` | `Resource`, `PODS`, `LEASES`, `scalers()`, `deployments()`, ... | kinds and their addresses |
| `watch` | `WatchEvent`, `EventType` | bytes of a watch as events |
| `clock` | `Clock`, `SteadyClock` | the only place that reads time |

Documents (`dict[str, Any]`) live at this edge; callers read them into the frozen models of `scaler_core.api`.
Deadlines are in seconds of the event loop's clock, which is `Clock.monotonic()`.
"""
