"""The one door to Kubernetes; nothing outside this package touches the client library.

| Module | Public names | For |
|---|---|---|
| `client` | `connect`, `KubeClient`, `Listing`, `DryRun`, `FieldConflicts` | verbs on decoded JSON documents |
| `access` | `InCluster`, `KubeConfig`, `Endpoint` | where the server is and who we are |
| `transport` | `Document`, `Timeouts` | one request, with deadlines |
| `errors` | `KubeError` and its kinds, `AccessError` | what can go wrong, as the caller must tell it apart |
| `resources` | `Resource`, `PODS`, `LEASES`, `scalers()`, `deployments()`, ... | kinds and their addresses |
| `watch` | `WatchEvent`, `EventType` | bytes of a watch as events |
| `store` | `Store`, `Entry`, `Change` | the cache of one kind, with indexes; `has_reached(version)` for own writes |
| `reflector` | `Reflector`, `Undecodable` | list and watch as a state machine without I/O |
| `informer` | `Informer`, `Subject`, `Presence` | runs a reflector into a store, tells handlers |
| `leases` | `LeaseRecord`, `read_lease`, `write_lease` | what an elector looks at |
| `events` | `EventRecorder`, and `event_series.Regarding` | notes as events.k8s.io/v1, in series |
| `backoff` | `Exponential` | how long to wait after failures |
| `logs` | `configure_logs`, `pass_context` | the processes' logs: one JSON object a line |
| `clock` | `Clock`, `SteadyClock` | the only place that reads time |

Documents (`dict[str, Any]`) live at this edge; callers read them into the frozen models of `scaler_core.api`.
Deadlines are in seconds of the event loop's clock, which is `Clock.monotonic()`.
"""
