{{/* Only for Kubernetes 1.30 and newer: older servers drop the field, and server-side apply of it fails there. */}}
{{- define "mds.hasMatchConditions" -}}
{{- if and .Values.webhook.matchConditions (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}true{{ end }}
{{- end }}

{{/* A dying scaler whose spec is unchanged has nothing to be judged: its finalizer can go during an outage. */}}
{{- define "mds.scalerConditions" -}}
{{- if include "mds.hasMatchConditions" . }}
matchConditions:
  - name: is-not-only-dying
    expression: >-
      request.operation != "UPDATE" || !has(object.metadata.deletionTimestamp) || object.spec != oldObject.spec
{{- end }}
{{- end }}

{{/* Every write of roles or of either annotation is judged, and every write of an operator of the fence. */}}
{{- define "mds.fenceConditions" -}}
{{- if include "mds.hasMatchConditions" .root }}
matchConditions:
  - name: touches-what-is-fenced
    expression: >-
      request.operation != "UPDATE"
      || request.userInfo.username in {{ .operators | toJson }}
      || object.spec.roles != oldObject.spec.roles
      {{- range list "modeldeployment.gpustack.ai/scaler-binding" "modeldeployment.gpustack.ai/scaler-decision" }}
      || (has(object.metadata.annotations) && {{ . | quote }} in object.metadata.annotations
      ? [object.metadata.annotations[{{ . | quote }}]] : [])
      != (has(oldObject.metadata.annotations) && {{ . | quote }} in oldObject.metadata.annotations
      ? [oldObject.metadata.annotations[{{ . | quote }}]] : [])
      {{- end }}
{{- end }}
{{- end }}
