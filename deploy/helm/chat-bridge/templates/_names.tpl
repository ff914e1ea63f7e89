{{/* Prefix of the names of all objects; leaves room for "-dashboard". */}}
{{- define "chat-bridge.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "chat-bridge.selectorOfRelease" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Arguments of the templates below: `context` is the chart's context, and `component` is core, edge or dashboard. */}}
{{- define "chat-bridge.selector" -}}
{{ include "chat-bridge.selectorOfRelease" .context }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "chat-bridge.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: chat-bridge
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "chat-bridge.labels" -}}
{{ include "chat-bridge.selector" . }}
{{ include "chat-bridge.commonLabels" .context }}
{{- end -}}

{{- define "chat-bridge.labelsOfRelease" -}}
{{ include "chat-bridge.selectorOfRelease" . }}
{{ include "chat-bridge.commonLabels" . }}
{{- end -}}

{{- define "chat-bridge.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "chat-bridge.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "chat-bridge.image" -}}
{{- $image := .Values.image -}}
{{- $repository := required "image.repository is missing: push the image to your registry, and set image.repository to its name without a tag" $image.repository -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end -}}
