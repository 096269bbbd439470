# One target per service; each image holds its own rooms and its own packages, so that a forbidden import cannot start.
# Packages come first and code last: a change of code rebuilds no package.
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${PYTHON_IMAGE} AS python
# What is imported was compiled when the image was built; nothing can be written to a read-only root.
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PATH=/opt/venv/bin:$PATH
WORKDIR /app

FROM python AS builder
# An index of one's own, and pip's words for it, come from the environment of `docker compose build`.
ARG PIP_INDEX_URL
ENV PIP_PYTHON=/opt/venv/bin/python PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_DEPS=1 \
    PIP_REQUIRE_HASHES=1 PIP_CACHE_DIR=/var/cache/pip
RUN python -m venv --without-pip /opt/venv

FROM builder AS gate-packages
RUN --mount=type=cache,target=/var/cache/pip --mount=type=bind,source=locks/requirements-gate.lock,target=/lock \
    pip install -q -r /lock
FROM builder AS worker-packages
RUN --mount=type=cache,target=/var/cache/pip --mount=type=bind,source=locks/requirements-worker.lock,target=/lock \
    pip install -q -r /lock
FROM builder AS mock-model-packages
RUN --mount=type=cache,target=/var/cache/pip --mount=type=bind,source=locks/requirements-mock-model.lock,target=/lock \
    pip install -q -r /lock
FROM builder AS loadgen-packages
RUN --mount=type=cache,target=/var/cache/pip --mount=type=bind,source=locks/requirements-loadgen.lock,target=/lock \
    pip install -q -r /lock
FROM builder AS schedule-packages
RUN --mount=type=cache,target=/var/cache/pip --mount=type=bind,source=locks/requirements-schedule.lock,target=/lock \
    pip install -q -r /lock

FROM python AS service
# Root owns the code, so that a service cannot change it; whatever the umask of the checkout, it can read it.
COPY lab/__init__.py lab/
COPY lab/contract lab/contract

FROM service AS gate
COPY --from=gate-packages /opt/venv /opt/venv
COPY lab/policies lab/policies
COPY gate gate
RUN chmod -R u=rwX,go=rX . && python -m compileall -q lab gate
USER 10001:10001
CMD ["python", "-m", "gate"]

FROM service AS worker
COPY --from=worker-packages /opt/venv /opt/venv
COPY lab/policies lab/policies
COPY worker worker
RUN chmod -R u=rwX,go=rX . && python -m compileall -q lab worker
USER 10001:10001
CMD ["python", "-m", "worker"]

FROM service AS mock-model
COPY --from=mock-model-packages /opt/venv /opt/venv
COPY mock_model mock_model
RUN chmod -R u=rwX,go=rX . && python -m compileall -q lab mock_model
USER 10001:10001
CMD ["python", "-m", "mock_model"]

FROM service AS loadgen
COPY --from=loadgen-packages /opt/venv /opt/venv
COPY loadgen loadgen
RUN chmod -R u=rwX,go=rX . && python -m compileall -q lab loadgen
USER 10001:10001
CMD ["python", "-m", "loadgen"]

# Writes the schedule that the load generator plays, and ends.
FROM service AS schedule
COPY --from=schedule-packages /opt/venv /opt/venv
COPY lab/workload lab/workload
COPY lab/desk/__init__.py lab/desk/arguments.py lab/desk/border.py lab/desk/errors.py lab/desk/places.py \
     lab/desk/schedule.py lab/desk/
COPY lab/__main__.py lab/
COPY scenarios scenarios
# A volume that is new takes over this folder with its owner.
RUN chmod -R u=rwX,go=rX . && python -m compileall -q lab && mkdir /schedule && chown 10001:10001 /schedule
USER 10001:10001
ENTRYPOINT ["python", "-m", "lab", "schedule"]
