# One image with all three commands: scaler-controller, scaler-webhook and mds; the chart names the one to run.
#   docker build -t model-deployment-scaler:0.1.0 .
# For a release pin the base by digest: --build-arg PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:...
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: they change less often than the code. Every file is checked against the hashes of the lock.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv --without-pip /venv \
 && python -m pip --python /venv/bin/python install --require-hashes --only-binary=:all: -r requirements/runtime.txt \
 && python -m pip install --require-hashes --only-binary=:all: -r requirements/build.txt
COPY pyproject.toml README.md ./
COPY scaler_core scaler_core
COPY scaler_kube scaler_kube
COPY scaler_controller scaler_controller
COPY scaler_webhook scaler_webhook
COPY scaler_sim scaler_sim
COPY scaler_cli scaler_cli
# Bytecode is made here, since the root of a running container is read-only; sources never change under it.
RUN python -m pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /dist . \
 && python -m pip --python /venv/bin/python install --no-index --no-deps /dist/*.whl \
 && python -m compileall -q --invalidation-mode unchecked-hash /venv/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="model-deployment-scaler" \
      org.opencontainers.image.description="Autoscaler for the roles of LLM serving deployments on Kubernetes"
# Nothing is installed into a running container.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore setuptools wheel pip
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
USER 65532:65532
CMD ["mds", "--help"]
