{{/* Name of the chart. */}}
{{- define "plimsoll-watch.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of the resources: at most 52 characters, so that a stateful set can add to it. */}}
{{- define "plimsoll-watch.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "plimsoll-watch.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "plimsoll-watch.selectorLabels" -}}
app.kubernetes.io/name: {{ include "plimsoll-watch.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "plimsoll-watch.labels" -}}
helm.sh/chart: {{ include "plimsoll-watch.chart" . }}
{{ include "plimsoll-watch.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "plimsoll-watch.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "plimsoll-watch.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "plimsoll-watch.image" -}}
{{- $name := printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- if .Values.image.registry }}{{ .Values.image.registry }}/{{ end }}{{ $name }}
{{- end }}

{{/* The configuration. Probes and Prometheus come from outside of the pod, so it has to listen there. */}}
{{- define "plimsoll-watch.config" -}}
{{- $config := tpl .Values.config . }}
{{- $port := int .Values.service.port }}
{{- if not (regexMatch (printf "(?m)^\\s*listen_address\\s*=\\s*\"[^\"]*:%d\"" $port) $config) }}
{{- fail (printf "config needs the section [web] with listen_address = \"0.0.0.0:%d\", for probes and Prometheus" $port) }}
{{- end }}
{{- $config }}
{{- end }}

{{/* The rules of a file of integrations/prometheus, with the address of the runbooks. */}}
{{- define "plimsoll-watch.rules" -}}
{{- $text := .root.Files.Get .file | replace "https://wiki.example/runbooks/" .root.Values.prometheusRule.runbookBase }}
{{- (fromYaml $text).groups | toYaml }}
{{- end }}
