{{- define "mds.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "mds.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mds.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "mds.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
{{- end }}

{{- define "mds.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- end }}

{{- define "mds.controllerAccount" -}}
{{ .Values.controller.serviceAccount.name | default (printf "%s-controller" (include "mds.fullname" .)) }}
{{- end }}

{{- define "mds.webhookAccount" -}}
{{ .Values.webhook.serviceAccount.name | default (printf "%s-webhook" (include "mds.fullname" .)) }}
{{- end }}

{{- define "mds.webhookService" -}}
{{ include "mds.fullname" . }}-webhook
{{- end }}

{{/* Name of both webhook configurations: the same in every release, so that a second installation in one cluster fails. */}}
{{- define "mds.configurationName" -}}
model-deployment-scaler
{{- end }}

{{- define "mds.isSelfManaged" -}}
{{- if eq .Values.webhook.certificates.mode "SelfManaged" }}true{{ end }}
{{- end }}

{{- define "mds.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "mds.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Where the Pods of a component may run; call with a dict of root, name (component) and values (of the component). */}}
{{- define "mds.placement" -}}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "mds.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "mds.clientConfig" -}}
{{- if .root.Values.webhook.clientConfig.url }}
url: {{ printf "%s%s" (trimSuffix "/" .root.Values.webhook.clientConfig.url) .path | quote }}
{{- else }}
service:
  namespace: {{ .root.Release.Namespace }}
  name: {{ include "mds.webhookService" .root }}
  path: {{ .path }}
  port: 443
{{- end }}
{{- end }}
