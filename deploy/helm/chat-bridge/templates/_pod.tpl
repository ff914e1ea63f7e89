{{/*
The pod of a process. Arguments: context; component; of: the component's values; program: core or edge; port: name and
number of the listener; env; volumes: a list of the folders with certificates or a token, with the name, the Secret or
ConfigMap, and the key and its path if the folder contains only one file.
*/}}
{{- define "chat-bridge.pod" -}}
metadata:
  labels:
    {{- include "chat-bridge.labels" . | nindent 4 }}
    {{- with .of.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .of.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  serviceAccountName: {{ include "chat-bridge.serviceAccount" .context }}
  automountServiceAccountToken: false
  # Otherwise, Kubernetes adds variables for each Service of the namespace, which could have the same names as settings.
  enableServiceLinks: false
  {{- with .context.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  # After the drain, a process needs up to 10 seconds to stop.
  terminationGracePeriodSeconds: {{ add (default 0 .of.drainSeconds) 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    # Mounted certificates belong to this group, so the process can read them.
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: {{ .component }}
      image: {{ include "chat-bridge.image" .context | quote }}
      imagePullPolicy: {{ .context.Values.image.pullPolicy }}
      args: [dist/{{ .program }}/main.js]
      env:
        {{- .env | trim | nindent 8 }}
      ports:
        - { name: {{ .port.name }}, containerPort: {{ .port.number }}, protocol: TCP }
        - { name: health, containerPort: 8081, protocol: TCP }
      startupProbe:
        httpGet: { path: /live, port: health }
        periodSeconds: 1
        timeoutSeconds: 3
        failureThreshold: 60
      # A process that waits for Redis or core is live, because a restart would not help.
      livenessProbe:
        httpGet: { path: /live, port: health }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /ready, port: health }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 3
      resources:
        {{- toYaml .of.resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: tmp, mountPath: /tmp }
        {{- range .volumes }}
        - { name: {{ .name }}, mountPath: /etc/chat-bridge/{{ .name }}, readOnly: true }
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: { sizeLimit: 64Mi }
    {{- range $volume := .volumes }}
    - name: {{ .name }}
      {{- if .secret }}
      secret:
        secretName: {{ .secret }}
      {{- else }}
      configMap:
        name: {{ .configMap }}
      {{- end }}
        defaultMode: 0440
        {{- with .key }}
        items: [{ key: {{ . }}, path: {{ default "ca.crt" $volume.path }} }]
        {{- end }}
    {{- end }}
  {{- if .of.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- $selector := include "chat-bridge.selector" . | fromYaml }}
    {{- /* Without this key, the pods that an update replaces count too, so the new pods would be uneven. */}}
    {{- $keys := ternary (dict "matchLabelKeys" (list "pod-template-hash")) dict (semverCompare ">=1.27-0" .context.Capabilities.KubeVersion.Version) }}
    {{- range .of.topologySpreadConstraints }}
    - {{ merge (dict "labelSelector" (dict "matchLabels" $selector)) . $keys | toYaml | indent 6 | trim }}
    {{- end }}
  {{- end }}
  {{- range $field := list "affinity" "nodeSelector" "tolerations" "priorityClassName" }}
  {{- with index $.of $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/* The token and the certificates of edges and the dashboard. */}}
{{- define "chat-bridge.callerVolumes" -}}
{{- $tls := .Values.tls -}}
{{- $secret := required "edge.secret is missing: create a Secret with the key CORE_TOKEN (docs/kubernetes.md has the commands), and set edge.secret to its name" .Values.edge.secret -}}
{{- $volumes := list (dict "name" "token" "secret" $secret "key" "CORE_TOKEN" "path" "token") -}}
{{- if $tls.serverSecret -}}
{{- $volumes = append $volumes (dict "name" "ca" "secret" (required "tls.caSecret is missing: set it to a Secret whose ca.crt is the authority that issued core's certificate" $tls.caSecret) "key" "ca.crt") -}}
{{- if $tls.clientSecret -}}{{- $volumes = append $volumes (dict "name" "tls" "secret" $tls.clientSecret) -}}{{- end -}}
{{- end -}}
{{- $volumes | toYaml -}}
{{- end -}}

{{- define "chat-bridge.coreVolumes" -}}
{{- $tls := .Values.tls -}}
{{- $volumes := list (dict "name" "tokens" "secret" .Values.core.secret "key" "CORE_TOKENS" "path" "core-tokens") -}}
{{- if $tls.serverSecret -}}
{{- $volumes = append $volumes (dict "name" "tls" "secret" $tls.serverSecret) -}}
{{- with $tls.clientCaSecret -}}{{- $volumes = append $volumes (dict "name" "client-ca" "secret" . "key" "ca.crt") -}}{{- end -}}
{{- end -}}
{{- range $name, $ca := dict "redis-ca" .Values.redis.ca "push-ca" .Values.core.pushCa -}}
{{- if or $ca.secret $ca.configMap -}}
{{- $volumes = append $volumes (dict "name" $name "secret" $ca.secret "configMap" $ca.configMap "key" $ca.key) -}}
{{- end -}}
{{- end -}}
{{- $volumes | toYaml -}}
{{- end -}}
