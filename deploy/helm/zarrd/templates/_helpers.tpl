{{- define "zarrd.name" -}}
{{- if contains "zarrd" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-zarrd" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "zarrd.selector" -}}
app.kubernetes.io/name: zarrd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "zarrd.labels" -}}
{{ include "zarrd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "zarrd.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The configuration: the datasets, the settings, and what follows from the other values. */}}
{{- define "zarrd.config" -}}
{{- $computed := dict "memory" (dict "bytes" (printf "%dMiB" (int64 .Values.memoryMiB))) "workers" (dict "count" (int64 .Values.cpu.limit)) }}
{{- $computed = merge $computed (dict "http" (dict "drain_ms" (int64 (include "zarrd.drain" .)) "drain_lag_ms" (int64 (include "zarrd.lag" .)) "connections" (int64 (include "zarrd.connections" .)))) }}
{{- if gt (int64 .Values.diskCacheGiB) 0 }}
{{- $computed = merge $computed (dict "cache" (dict "disk_path" "/cache" "disk_bytes" (printf "%dGiB" (int64 .Values.diskCacheGiB)))) }}
{{- end }}
{{- $given := dict "listen" (list ":8080") "datasets" .Values.datasets }}
{{- merge $given $computed (deepCopy .Values.settings) (dict "log" (dict "format" "json")) | toPrettyJson }}
{{- end }}

{{- define "zarrd.connections" -}}
{{- $http := .Values.settings.http | default dict }}
{{- if hasKey $http "connections" }}{{ int64 $http.connections }}{{ else }}4096{{ end }}
{{- end }}

{{- define "zarrd.drain" -}}
{{- $http := .Values.settings.http | default dict }}
{{- if hasKey $http "drain_ms" }}{{ int64 $http.drain_ms }}{{ else }}30000{{ end }}
{{- end }}

{{- define "zarrd.lag" -}}
{{- $http := .Values.settings.http | default dict }}
{{- if hasKey $http "drain_lag_ms" }}{{ int64 $http.drain_lag_ms }}{{ else }}5000{{ end }}
{{- end }}

{{/* memory.bytes and 32 KiB of socket buffers for each connection, in whole MiB. */}}
{{- define "zarrd.limit" -}}
{{- add (int64 .Values.memoryMiB) (div (add (int64 (include "zarrd.connections" .)) 31) 32) }}Mi
{{- end }}

{{/* An eighth more than cache.disk_bytes: what is beyond the limit of the volume has the pod evicted. */}}
{{- define "zarrd.volume" -}}
{{- add (int64 .Values.diskCacheGiB) (div (add (int64 .Values.diskCacheGiB) 7) 8) }}Gi
{{- end }}

{{- define "zarrd.grace" -}}
{{- add (div (add (int64 (include "zarrd.drain" .)) (int64 (include "zarrd.lag" .)) 999) 1000) (int64 .Values.drain.marginSeconds) }}
{{- end }}

{{/* Not empty where a dataset is neither of the claim nor in memory. */}}
{{- define "zarrd.remote" -}}
{{- range .Values.datasets }}{{ if not (regexMatch "^(/|file:|mem:)" .location) }}yes{{ end }}{{ end }}
{{- end }}

{{/* What no schema can say of two values at once. */}}
{{- define "zarrd.judge" -}}
{{- if not .Values.datasets }}
{{- fail "datasets names none; an example: {\"era\": {\"location\": \"/data/era.zarr\"}}" }}
{{- end }}
{{- range list "listen" "datasets" }}
{{- if hasKey $.Values.settings . }}{{ fail (printf "settings.%s is no group of settings; datasets stand beside settings, and all addresses are listened on" .) }}{{ end }}
{{- end }}
{{- range list (list "memory" "bytes" "memoryMiB") (list "workers" "count" "cpu.limit") (list "cache" "disk_path" "diskCacheGiB") (list "cache" "disk_bytes" "diskCacheGiB") }}
{{- if hasKey (get $.Values.settings (index . 0) | default dict) (index . 1) }}
{{- fail (printf "settings.%s.%s follows from %s; set that" (index . 0) (index . 1) (index . 2)) }}
{{- end }}
{{- end }}
{{- if and .Values.autoscaling.enabled (lt (int64 .Values.autoscaling.max) (int64 .Values.autoscaling.min)) }}
{{- fail (printf "autoscaling.max (%d) is less than autoscaling.min (%d)" (int64 .Values.autoscaling.max) (int64 .Values.autoscaling.min)) }}
{{- end }}
{{- if gt (float64 .Values.cpu.request) (float64 .Values.cpu.limit) }}
{{- fail (printf "cpu.request (%v) is more than cpu.limit (%v)" .Values.cpu.request .Values.cpu.limit) }}
{{- end }}
{{- $names := dict }}
{{- range .Values.secrets }}
{{- if hasKey $names .name }}{{ fail (printf "secrets: the name %q is there twice" .name) }}{{ end }}
{{- $_ := set $names .name true }}
{{- end }}
{{- range $name, $dataset := .Values.datasets }}
{{- $location := regexReplaceAll "^file:(//)?" $dataset.location "" }}
{{- if hasPrefix "/" $location }}
{{- if not $.Values.data.claim }}{{ fail (printf "datasets.%s.location is %s, but data.claim names no claim to mount at /data" $name $dataset.location) }}{{ end }}
{{- if not (or (eq $location "/data") (hasPrefix "/data/" $location)) }}{{ fail (printf "datasets.%s.location is %s, but the claim of data.claim is mounted at /data" $name $dataset.location) }}{{ end }}
{{- if and $dataset.writable (not $.Values.data.writable) }}{{ fail (printf "datasets.%s is writable, but data.writable is false" $name) }}{{ end }}
{{- end }}
{{- if and (eq $location "mem:") (or $.Values.autoscaling.enabled (gt (int64 $.Values.replicas) 1)) }}
{{- fail (printf "datasets.%s is in memory (mem:), and each replica would have another; set replicas to 1 and autoscaling.enabled to false" $name) }}
{{- end }}
{{- end }}
{{- end }}
