# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY shared shared
COPY service service
COPY workers workers
RUN python3 -m venv /venv
RUN /venv/bin/pip install --quiet --no-cache-dir --disable-pip-version-check -c constraints.txt '.[service,redis]'

# Tools of one's own are added so:  FROM mcpfleet  /  RUN pip install my-tools
FROM python:3.13-slim
COPY --from=build /venv /venv
COPY examples /app/examples
WORKDIR /app
ENV PATH=/venv/bin:/usr/local/bin:/usr/bin:/bin
ENV PYTHONUNBUFFERED=1
ENV PYTHONDONTWRITEBYTECODE=1
ENV MCPFLEET_HOST=0.0.0.0
ENV MCPFLEET_PORT=8000
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python3", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"MCPFLEET_PORT\"]}/livez', timeout=2)"]
ENTRYPOINT ["mcpfleet"]
CMD ["serve"]
