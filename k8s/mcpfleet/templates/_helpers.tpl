{{- define "mcpfleet.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "mcpfleet.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* What selects the pods of one part: (dict "root" $ "part" "server"). */}}
{{- define "mcpfleet.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end }}

{{- define "mcpfleet.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "mcpfleet.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "mcpfleet.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* The hosts that requests may name: those that lead here, else the Service's own names. */}}
{{- define "mcpfleet.allowedHosts" -}}
{{- $hosts := list }}
{{- if .Values.ingress.enabled }}{{ $hosts = concat $hosts .Values.ingress.hosts }}{{ end }}
{{- if .Values.gateway.enabled }}{{ $hosts = concat $hosts .Values.gateway.hostnames }}{{ end }}
{{- $hosts = concat $hosts .Values.allowedHosts }}
{{- if not $hosts }}{{ $name := include "mcpfleet.name" . }}{{ $hosts = list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) }}{{ end }}
{{- $hosts | uniq | join "," }}
{{- end }}

{{/* How long Kubernetes waits before it kills a pod: all that the pod does meanwhile, and ten seconds. */}}
{{- define "mcpfleet.grace" -}}
{{- add (int .Values.preStopSeconds) (int .Values.drainDelaySeconds) (int .Values.drainSeconds) 10 }}
{{- end }}

{{/* The most pods that there can be at once: as many as may be scaled to, and one more of each kind while they are replaced. */}}
{{- define "mcpfleet.maxProcesses" -}}
{{- $server := ternary .Values.server.autoscaling.maxReplicas .Values.server.replicas .Values.server.autoscaling.enabled }}
{{- $worker := ternary .Values.worker.autoscaling.maxReplicas .Values.worker.replicas .Values.worker.autoscaling.enabled }}
{{- if .Values.worker.keda.enabled }}{{ $worker = .Values.worker.keda.maxReplicas }}{{ end }}
{{- add (int $server) 1 (int $worker) (ternary 1 0 (gt (int $worker) 0)) }}
{{- end }}

{{- define "mcpfleet.check" -}}
{{- if and .Values.worker.keda.enabled .Values.worker.autoscaling.enabled }}{{ fail "worker.keda: two would set the number of pods: switch worker.autoscaling off" }}{{ end }}
{{- if eq (int .Values.adminPort) 8000 }}{{ fail "adminPort: 8000 is where clients are served" }}{{ end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}{{ fail "ingress.hosts: an Ingress needs at least one host, which the fleet then accepts" }}{{ end }}
{{- if and .Values.gateway.enabled (not .Values.gateway.parentRefs) }}{{ fail "gateway.parentRefs: an HTTPRoute belongs to at least one Gateway" }}{{ end }}
{{- $given := len (compact (list .Values.redis.url .Values.redis.existingSecret (ternary "bundled" "" .Values.redis.bundled.enabled))) }}
{{- if ne $given 1 }}{{ fail "redis: give exactly one of redis.url, redis.existingSecret and redis.bundled.enabled" }}{{ end }}
{{- if le (int .Values.ingress.readTimeoutSeconds) (int .Values.keepaliveSeconds) }}{{ fail "ingress.readTimeoutSeconds: must exceed keepaliveSeconds, or silent streams are cut" }}{{ end }}
{{- end }}

{{- define "mcpfleet.redisEnv" -}}
{{- with .Values.redis.auth }}
{{- if .existingSecret }}
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ .existingSecret }}, key: {{ .passwordKey }} } }
{{- if .usernameKey }}
- name: REDIS_USERNAME
  valueFrom: { secretKeyRef: { name: {{ .existingSecret }}, key: {{ .usernameKey }} } }
{{- end }}
{{- end }}
{{- end }}
- name: MCPFLEET_REDIS_URL
{{- if .Values.redis.bundled.enabled }}
  value: {{ printf "redis://%s-redis:6379/0" (include "mcpfleet.name" .) | quote }}
{{- else if .Values.redis.existingSecret }}
  valueFrom: { secretKeyRef: { name: {{ .Values.redis.existingSecret }}, key: {{ .Values.redis.existingSecretKey }} } }
{{- else }}
  value: {{ .Values.redis.url | quote }}
{{- end }}
{{- end }}

{{/* What every process is told: (dict "root" $ "own" (dict of this part's own settings)). */}}
{{- define "mcpfleet.env" -}}
{{- $root := .root }}
{{- with $root.Values }}
{{- include "mcpfleet.redisEnv" $root }}
- name: MCPFLEET_KEY_ENCRYPTION_KEY
  valueFrom:
    secretKeyRef:
      name: {{ .keyEncryptionKey.existingSecret | default (printf "%s-key" (include "mcpfleet.name" $root)) }}
      key: {{ .keyEncryptionKey.existingSecretKey }}
{{- $told := dict "NAMESPACE" (include "mcpfleet.name" $root) "DRAIN_DELAY" .drainDelaySeconds "DRAIN_SECONDS" .drainSeconds "KEEPALIVE_SECONDS" .keepaliveSeconds "MAX_BODY_BYTES" (int64 .maxBodyBytes) "LOG_FORMAT" "json" "AUDIT" true "HOST" "0.0.0.0" "ADMIN_PORT" .adminPort "MAX_PROCESSES" (include "mcpfleet.maxProcesses" $root) }}
{{- if .app }}{{ $_ := set $told "APP" .app }}{{ end }}
{{- range $name, $value := mergeOverwrite $told (deepCopy $.own) .settings }}
- name: MCPFLEET_{{ $name }}
  value: {{ if kindIs "float64" $value }}{{ if eq (floor $value) $value }}{{ $value | int64 | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- with .extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}

{{/* A pod of one part: (dict "root" $ "part" "server" "own" settings "args" list). */}}
{{- define "mcpfleet.pod" -}}
{{- $root := .root }}
{{- $mine := index $root.Values .part }}
metadata:
  labels:
    {{- include "mcpfleet.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .part }}
  {{- with $mine.podAnnotations }}
  annotations: {{ toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "mcpfleet.serviceAccount" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ include "mcpfleet.grace" $root }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: { type: RuntimeDefault }
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets: {{ toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: {{ .part }}
      image: {{ include "mcpfleet.image" $root | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args: {{ toYaml .args | nindent 8 }}
      env: {{ include "mcpfleet.env" . | trim | nindent 8 }}
      {{- with $root.Values.extraEnvFrom }}
      envFrom: {{ toYaml . | nindent 8 }}
      {{- end }}
      {{- if eq .part "server" }}
      ports: [{ name: http, containerPort: 8000 }, { name: admin, containerPort: {{ $root.Values.adminPort }} }]
      {{- else }}
      ports: [{ name: admin, containerPort: {{ $root.Values.adminPort }} }]
      {{- end }}
      startupProbe: { httpGet: { path: /livez, port: admin }, periodSeconds: 1, failureThreshold: 60 }
      livenessProbe: { httpGet: { path: /livez, port: admin }, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 3 }
      readinessProbe: { httpGet: { path: /readyz, port: admin }, periodSeconds: 2, timeoutSeconds: 2, failureThreshold: 1 }
      lifecycle: { preStop: { exec: { command: [sleep, {{ $root.Values.preStopSeconds | quote }}] } } }
      resources: {{ toYaml $mine.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- with $root.Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - { name: tmp, emptyDir: { sizeLimit: 64Mi } }
    {{- with $root.Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $mine.nodeSelector }}
  nodeSelector: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $mine.tolerations }}
  tolerations: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $mine.affinity }}
  affinity: {{ toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.topologySpread }}
  topologySpreadConstraints:
    {{- range . }}
    - {{ toYaml . | nindent 6 | trim }}
      labelSelector:
        matchLabels: {{ include "mcpfleet.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
{{- end }}
