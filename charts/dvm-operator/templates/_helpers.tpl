{{/* SPDX-License-Identifier: BSD-3-Clause */}}
{{/* Names and labels that all objects share. */}}
{{- define "dvm-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dvm-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "dvm-operator.selector" -}}
app.kubernetes.io/name: {{ include "dvm-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dvm-operator.labels" -}}
{{ include "dvm-operator.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: operator
app.kubernetes.io/part-of: dvm-operator
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- define "dvm-operator.serviceAccount" -}}
{{- default (include "dvm-operator.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{/* A name for objects that belong to no namespace. */}}
{{- define "dvm-operator.clusterName" -}}
{{- printf "%s-%s" .Release.Namespace (include "dvm-operator.fullname" .) | trunc 200 | trimSuffix "-" -}}
{{- end -}}

{{/* The namespaces in which the operator works, as a JSON list; empty: all. */}}
{{- define "dvm-operator.namespaces" -}}
{{- if and .Values.clusterWide .Values.watchNamespaces -}}
{{- fail "clusterWide and watchNamespaces exclude each other" -}}
{{- end -}}
{{- if .Values.clusterWide }}[]{{ else }}{{ default (list .Release.Namespace) .Values.watchNamespaces | toJson }}{{ end -}}
{{- end -}}

{{/* How many operators there are. Several need the Lease. */}}
{{- define "dvm-operator.replicas" -}}
{{- $n := ternary 2 1 .Values.highAvailability -}}
{{- if not (kindIs "invalid" .Values.replicas) }}{{ $n = int .Values.replicas }}{{ end -}}
{{- if and (gt $n 1) (not .Values.leaderElection.enabled) -}}
{{- fail (printf "replicas is %d: several operators need leaderElection.enabled" $n) -}}
{{- end -}}
{{- $n -}}
{{- end -}}

{{/* What the operator may do, the same in a Role and in a ClusterRole. */}}
{{- define "dvm-operator.rules" -}}
- apiGroups: [dvm.openpmix.io]
  resources: [dvmclusters]
  verbs: [get, list, watch]
- apiGroups: [dvm.openpmix.io]
  resources: [dvmclusters/status]
  verbs: [get, update, patch]
- apiGroups: [dvm.openpmix.io] # for clusters that check blockOwnerDeletion
  resources: [dvmclusters/finalizers]
  verbs: [update]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""]
  resources: [services]
  verbs: [get, list, watch, create, patch]
- apiGroups: [""] # create: templates are tried dry, so that a refusal becomes a condition
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""] # no list, no watch: only the Secrets whose names it knows
  resources: [secrets]
  verbs: [get, create, patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.certManager }}
- apiGroups: [cert-manager.io]
  resources: [certificates]
  verbs: [get, create, patch]
{{- end }}
{{- end -}}

{{/* The operator's image, by digest if there is one. */}}
{{- define "dvm-operator.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- with .Values.image.digest }}{{ $.Values.image.repository }}@{{ . }}{{ else }}{{ .Values.image.repository }}:{{ $tag }}{{ end -}}
{{- end -}}
