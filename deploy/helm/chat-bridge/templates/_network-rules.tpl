{{- define "chat-bridge.dnsEgress" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns.to | nindent 4 }}
  ports:
    - { protocol: UDP, port: 53 }
    - { protocol: TCP, port: 53 }
{{- end -}}

{{- define "chat-bridge.monitoringIngress" -}}
{{- with .Values.networkPolicy.monitoring -}}
- from:
    {{- toYaml . | nindent 4 }}
  ports: [{ protocol: TCP, port: 8081 }]
{{- end -}}
{{- end -}}

{{/* Peers: all public addresses. */}}
{{- define "chat-bridge.internet" -}}
{{- $pushes := .Values.networkPolicy.pushes -}}
- ipBlock:
    cidr: 0.0.0.0/0
    except:
      {{- toYaml $pushes.except | nindent 6 }}
{{- range $pushes.ipv6 }}
- ipBlock: { cidr: {{ . | quote }} }
{{- end }}
{{- end -}}
