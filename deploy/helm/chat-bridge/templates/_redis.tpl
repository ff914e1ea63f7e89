{{/* Environment variables with the address of Redis. Kubernetes puts the passwords into the URL. */}}
{{- define "chat-bridge.redisEnv" -}}
{{- $redis := .Values.redis -}}
{{- if $redis.urlSecret.name }}
- name: REDIS_URL
  valueFrom: { secretKeyRef: { name: {{ $redis.urlSecret.name }}, key: {{ $redis.urlSecret.key }} } }
{{- else }}
{{- if $redis.passwordSecret.name }}
- name: REDIS_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ $redis.passwordSecret.name }}, key: {{ $redis.passwordSecret.key }} } }
{{- end }}
{{- if and (eq $redis.mode "sentinel") $redis.sentinel.passwordSecret.name }}
- name: SENTINEL_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ $redis.sentinel.passwordSecret.name }}, key: {{ $redis.sentinel.passwordSecret.key }} } }
{{- end }}
- name: REDIS_URL
  value: {{ include "chat-bridge.redisUrl" . | quote }}
{{- end }}
- name: REDIS_WAIT_REPLICAS
  value: {{ $redis.waitReplicas | quote }}
{{- if or $redis.ca.secret $redis.ca.configMap }}
- name: REDIS_CA
  value: /etc/chat-bridge/redis-ca/ca.crt
{{- end }}
{{- end -}}

{{- define "chat-bridge.redisUrl" -}}
{{- $redis := .Values.redis -}}
{{- if not $redis.hosts -}}
{{- fail "redis.hosts is missing: list host:port of the server, the Sentinels or the cluster, or set redis.urlSecret.name to a Secret with the whole URL" -}}
{{- end -}}
{{- if and (eq $redis.mode "single") (gt (len $redis.hosts) 1) -}}
{{- fail "redis.hosts has several servers: set redis.mode to sentinel or cluster, or list one server" -}}
{{- end -}}
{{- if and $redis.username (not $redis.passwordSecret.name) -}}
{{- fail "redis.passwordSecret.name is missing: redis.username requires a password" -}}
{{- end -}}
{{- $scheme := ternary "rediss" "redis" $redis.tls -}}
{{- if ne $redis.mode "single" -}}{{- $scheme = printf "%s+%s" $scheme $redis.mode -}}{{- end -}}
{{- $login := "" -}}
{{- if $redis.passwordSecret.name -}}{{- $login = printf "%s:$(REDIS_PASSWORD)@" (urlquery $redis.username | replace "+" "%20") -}}{{- end -}}
{{- $path := "" -}}
{{- $query := list -}}
{{- if eq $redis.mode "sentinel" -}}
{{- $master := required "redis.sentinel.master is missing: set it to the master's name in the configuration of the Sentinels" $redis.sentinel.master -}}
{{- $path = printf "/%s/%d" (urlquery $master | replace "+" "%20") (int $redis.database) -}}
{{- with $redis.sentinel.username -}}{{- $query = append $query (printf "sentinel_user=%s" (urlquery .)) -}}{{- end -}}
{{- if $redis.sentinel.passwordSecret.name -}}{{- $query = append $query "sentinel_password=$(SENTINEL_PASSWORD)" -}}{{- end -}}
{{- if and $redis.tls (not $redis.sentinel.tls) -}}{{- $query = append $query "sentinel_tls=no" -}}{{- end -}}
{{- else if eq $redis.mode "single" -}}
{{- $path = printf "/%d" (int $redis.database) -}}
{{- else if ne (int $redis.database) 0 -}}
{{- fail "redis.database must be 0, because a cluster has no other databases" -}}
{{- end -}}
{{- printf "%s://%s%s%s" $scheme $login (join "," $redis.hosts) $path -}}
{{- if $query -}}?{{ join "&" $query }}{{- end -}}
{{- end -}}

{{/* Ports of the servers of Redis for the NetworkPolicy, as a list. */}}
{{- define "chat-bridge.redisPorts" -}}
{{- $redis := .Values.redis -}}
{{- $ports := list -}}
{{- if .Values.networkPolicy.redis.ports -}}
{{- range .Values.networkPolicy.redis.ports -}}{{- $ports = append $ports (int .) -}}{{- end -}}
{{- else -}}
{{- range $redis.hosts -}}{{- $ports = append $ports (regexFind "[0-9]+$" . | int) -}}{{- end -}}
{{- if or (eq $redis.mode "sentinel") (not $redis.hosts) -}}
{{- $ports = append $ports (int $redis.sentinel.dataPort) -}}
{{- end -}}
{{- end -}}
{{- range uniq $ports }}
- { protocol: TCP, port: {{ . }} }
{{- end }}
{{- end -}}
