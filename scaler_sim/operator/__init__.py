"""The simulated target operator: Pods, Workloads, admission and retirement of `ModelDeployment` replicas.

It keeps the facts of target-contract.md 2 to 5 over the API alone, against the embedded server or a real one. There is
no kubelet, so it writes Pod status itself. Each pass is a set of pure functions over one listing; only `operator` acts.
"""
