"""The simulated target operator: Pods, Workloads, admission and retirement of `ModelDeployment` replicas.

It keeps the facts that a scaler relies on over the API alone, against the embedded server or a real one. There is
no kubelet, so it writes Pod status itself. Each pass is a set of pure functions over one listing; only `operator` acts.
"""
