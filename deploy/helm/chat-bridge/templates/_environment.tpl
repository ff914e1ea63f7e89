{{/* Settings that a map of values sets, in the order of their names. */}}
{{- define "chat-bridge.settings" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  {{- /* Helm reads a large number as a float, whose text would have an exponent. */}}
  value: {{ ternary (printf "%.0f" $value) (toString $value) (kindIs "float64" $value) | quote }}
{{- end }}
{{- end -}}

{{- define "chat-bridge.coreEnv" -}}
{{- $core := .Values.core -}}
{{- $secret := required "core.secret is missing: create a Secret with the keys SECRETS_KEY and CORE_TOKENS (docs/kubernetes.md has the commands), and set core.secret to its name" $core.secret -}}
- name: CORE_LISTEN
  value: {{ printf "%s:50051" .Values.listenHost | quote }}
- name: HEALTH_LISTEN
  value: {{ printf "%s:8081" .Values.listenHost | quote }}
- name: DRAIN_SECONDS
  value: {{ $core.drainSeconds | quote }}
- name: SECRETS_KEY
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: SECRETS_KEY } }
# Core reads this file again when the Secret changes.
- name: CORE_TOKENS_FILE
  value: /etc/chat-bridge/tokens/core-tokens
{{- if $core.smtp }}
{{- if not (index $core.settings "MAIL_FROM") }}
{{- fail "core.settings.MAIL_FROM is missing: core.smtp requires the sender of emails" }}
{{- end }}
- name: SMTP_URL
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: SMTP_URL } }
{{- end }}
{{- if index $core.settings "OPERATOR_EVENTS_URL" }}
- name: OPERATOR_EVENTS_SECRET
  valueFrom: { secretKeyRef: { name: {{ $secret }}, key: OPERATOR_EVENTS_SECRET } }
{{- end }}
{{- include "chat-bridge.redisEnv" . }}
{{- if .Values.tls.serverSecret }}
- name: CORE_TLS_CERT
  value: /etc/chat-bridge/tls/tls.crt
- name: CORE_TLS_KEY
  value: /etc/chat-bridge/tls/tls.key
{{- if .Values.tls.clientCaSecret }}
- name: CORE_TLS_CLIENT_CA
  value: /etc/chat-bridge/client-ca/ca.crt
{{- end }}
{{- end }}
{{- if or $core.pushCa.secret $core.pushCa.configMap }}
- name: PUSH_CA
  value: /etc/chat-bridge/push-ca/ca.crt
{{- end }}
{{- include "chat-bridge.settings" $core.settings }}
{{- with $core.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Settings of an edge, without its listeners. */}}
{{- define "chat-bridge.callerEnv" -}}
- name: CORE_ADDRESS
  value: dns:///{{ include "chat-bridge.fullname" . }}-core.{{ .Release.Namespace }}.svc:50051
- name: CORE_TOKEN_FILE
  value: /etc/chat-bridge/token/token
- name: HEALTH_LISTEN
  value: {{ printf "%s:8081" .Values.listenHost | quote }}
{{- if .Values.tls.serverSecret }}
- name: CORE_TLS_CA
  value: /etc/chat-bridge/ca/ca.crt
{{- if .Values.tls.clientSecret }}
- name: CORE_TLS_CERT
  value: /etc/chat-bridge/tls/tls.crt
- name: CORE_TLS_KEY
  value: /etc/chat-bridge/tls/tls.key
{{- end }}
{{- end }}
{{- with .Values.trustProxy }}
- name: TRUST_PROXY
  value: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "chat-bridge.edgeEnv" -}}
{{ include "chat-bridge.callerEnv" . }}
- name: EDGE_LISTEN
  value: {{ printf "%s:8080" .Values.listenHost | quote }}
- name: DRAIN_SECONDS
  value: {{ .Values.edge.drainSeconds | quote }}
{{- include "chat-bridge.settings" .Values.edge.settings }}
{{- with .Values.edge.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The dashboard is an edge whose listener for bridges can be reached only from its own pod. */}}
{{- define "chat-bridge.dashboardEnv" -}}
{{ include "chat-bridge.callerEnv" . }}
- name: EDGE_LISTEN
  value: "127.0.0.1:8080"
- name: DASHBOARD_LISTEN
  value: {{ printf "%s:8082" .Values.listenHost | quote }}
{{- $host := "" }}
{{- if .Values.ingress.enabled }}{{ $host = .Values.ingress.edge.host }}{{ end }}
{{- if .Values.gateway.enabled }}{{ $host = first .Values.gateway.edgeHostnames }}{{ end }}
{{- $url := .Values.dashboard.publicUrl }}
{{- if and (not $url) $host }}{{ $url = printf "https://%s" $host }}{{ end }}
{{- with $url }}
- name: PUBLIC_URL
  value: {{ . | quote }}
{{- end }}
{{- include "chat-bridge.settings" .Values.dashboard.settings }}
{{- with .Values.dashboard.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}
