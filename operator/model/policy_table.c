/* SPDX-License-Identifier: BSD-3-Clause */
/* The fields that spec.template may have under the template policy "restricted". A field that is
 * not listed is refused, so one that a later Kubernetes adds is refused too.
 *
 * Each field stands here because a pod of the restricted level (Pod Security Standards) may have
 * it, and because it gives nothing that the creator of a DvmCluster does not have: no service
 * account, no Secret, no file of a node, no other pod's network identity, no view of the daemon's
 * key. Not listed, though that level allows them:
 *
 * - serviceAccountName, secret and csi volumes, tokens: they are rights of others;
 * - nodeName: it evades the scheduler, and taints with it;
 * - shareProcessNamespace: /proc shows the daemon's key to all containers;
 * - os: Pod Security demands less of a pod for Windows;
 * - labels and annotations of other domains: runtimes, networks and webhooks act on them, some with
 *   devices of the node (cdi.k8s.io) or a token (azure.workload.identity);
 * - sysctls, seLinuxOptions: no known use, and the safe ones differ between releases.
 *
 * After a change: make policy. */
#include "operator/model/policy_table.h"

#include <stddef.h>

const char *const POLICY_WORDS[POLICY_NRULES] = {
    [POLICY_ANY] = "it must be there",
    [POLICY_FIELDS] = "it must be an object",
    [POLICY_KEPT] = "it must be an object, not null",
    [POLICY_ITEMS] = "it must be a list of objects",
    [POLICY_PLAIN] = "it must be an object",
    [POLICY_NO_TRUE] = "it must be false",
    [POLICY_ONLY_FALSE] = "it must be false",
    [POLICY_NO_FALSE] = "it must be true",
    [POLICY_ONLY_TRUE] = "it must be true",
    [POLICY_NOT_ROOT] = "it must be a number above 0",
    [POLICY_NO_PORT] = "it must be 0 or absent",
    [POLICY_CONFINED] = "it must be RuntimeDefault or Localhost",
    [POLICY_ALWAYS] = "it must be Always",
    [POLICY_NO_SYSTEM] = "it must not begin with system-",
    [POLICY_NOT_TLS] = "it must not be tls, the volume of the key of the daemon",
    [POLICY_DROP_ALL] = "it must contain ALL",
    [POLICY_GRACE] = "it follows from spec.drain",
    [POLICY_FQDN] = "a daemon reads its number from the short name of its host",
    [POLICY_NET_BIND] = "only NET_BIND_SERVICE is allowed",
};
const char POLICY_UNLISTED[] = "it is not on the list of what is allowed";

#define END                                                                                        \
    {                                                                                              \
        .key = NULL                                                                                \
    }

/* --- metadata */

static const struct policy_field LABELS[] = {
    {.key = "scheduling.x-k8s.io/pod-group"}, {.key = "sidecar.istio.io/inject"}, END};

static const struct policy_field ANNOTATIONS[] = {
    {.key = "cluster-autoscaler.kubernetes.io/safe-to-evict"},
    {.key = "k8s.v1.cni.cncf.io/networks"},
    {.key = "karpenter.sh/do-not-disrupt"},
    {.key = "kubectl.kubernetes.io/default-container"},
    {.key = "linkerd.io/inject"},
    {.key = "prometheus.io/path"},
    {.key = "prometheus.io/port"},
    {.key = "prometheus.io/scheme"},
    {.key = "prometheus.io/scrape"},
    {.key = "scheduling.k8s.io/group-name"},
    {.key = "sidecar.istio.io/inject"},
    END};

static const struct policy_field METADATA[] = {
    {.key = "labels", .rule = POLICY_PLAIN, .fields = LABELS},
    {.key = "annotations", .rule = POLICY_PLAIN, .fields = ANNOTATIONS},
    END};

/* --- sources of values and files */

static const struct policy_field FIELD_REF[] = {{.key = "apiVersion"}, {.key = "fieldPath"}, END};

static const struct policy_field RESOURCE_REF[] = {
    {.key = "containerName"}, {.key = "resource"}, {.key = "divisor"}, END};

static const struct policy_field KEY_REF[] = {
    {.key = "name"}, {.key = "key"}, {.key = "optional"}, END};

static const struct policy_field KEY_FILES[] = {
    {.key = "key"}, {.key = "path"}, {.key = "mode"}, END};

static const struct policy_field FIELD_FILES[] = {
    {.key = "path"},
    {.key = "mode"},
    {.key = "fieldRef", .rule = POLICY_FIELDS, .fields = FIELD_REF},
    {.key = "resourceFieldRef", .rule = POLICY_FIELDS, .fields = RESOURCE_REF},
    END};

static const struct policy_field CONFIG_MAP[] = {
    {.key = "name"},
    {.key = "items", .rule = POLICY_ITEMS, .fields = KEY_FILES},
    {.key = "defaultMode"},
    {.key = "optional"},
    END};

static const struct policy_field DOWNWARD[] = {
    {.key = "items", .rule = POLICY_ITEMS, .fields = FIELD_FILES}, {.key = "defaultMode"}, END};

/* --- volumes */

static const struct policy_field SOURCES[] = {
    {.key = "configMap", .rule = POLICY_FIELDS, .fields = CONFIG_MAP},
    {.key = "downwardAPI", .rule = POLICY_FIELDS, .fields = DOWNWARD},
    END};

static const struct policy_field PROJECTED[] = {
    {.key = "sources", .rule = POLICY_ITEMS, .fields = SOURCES}, {.key = "defaultMode"}, END};

static const struct policy_field EMPTY_DIR[] = {{.key = "medium"}, {.key = "sizeLimit"}, END};

static const struct policy_field CLAIM[] = {{.key = "claimName"}, {.key = "readOnly"}, END};

static const struct policy_field EPHEMERAL[] = {{.key = "volumeClaimTemplate"}, END};

static const struct policy_field VOLUMES[] = {
    {.key = "name", .rule = POLICY_NOT_TLS},
    {.key = "configMap", .rule = POLICY_FIELDS, .fields = CONFIG_MAP},
    {.key = "downwardAPI", .rule = POLICY_FIELDS, .fields = DOWNWARD},
    {.key = "emptyDir", .rule = POLICY_FIELDS, .fields = EMPTY_DIR},
    {.key = "ephemeral", .rule = POLICY_FIELDS, .fields = EPHEMERAL},
    {.key = "persistentVolumeClaim", .rule = POLICY_FIELDS, .fields = CLAIM},
    {.key = "projected", .rule = POLICY_FIELDS, .fields = PROJECTED},
    END};

/* --- security */

static const struct policy_field PROFILE[] = {
    {.key = "type", .rule = POLICY_CONFINED}, {.key = "localhostProfile"}, END};

static const struct policy_field CAPABILITIES[] = {
    {.key = "drop", .rule = POLICY_DROP_ALL}, {.key = "add", .rule = POLICY_NET_BIND}, END};

static const struct policy_field POD_SECURITY[] = {
    {.key = "runAsNonRoot", .rule = POLICY_ONLY_TRUE},
    {.key = "runAsUser", .rule = POLICY_NOT_ROOT},
    {.key = "runAsGroup"},
    {.key = "fsGroup"},
    {.key = "fsGroupChangePolicy"},
    {.key = "supplementalGroups"},
    {.key = "supplementalGroupsPolicy"},
    {.key = "seccompProfile", .rule = POLICY_KEPT, .fields = PROFILE},
    {.key = "appArmorProfile", .rule = POLICY_FIELDS, .fields = PROFILE},
    END};

static const struct policy_field SECURITY[] = {
    {.key = "privileged", .rule = POLICY_NO_TRUE},
    {.key = "allowPrivilegeEscalation", .rule = POLICY_ONLY_FALSE},
    {.key = "capabilities", .rule = POLICY_KEPT, .fields = CAPABILITIES},
    {.key = "readOnlyRootFilesystem"},
    {.key = "runAsNonRoot", .rule = POLICY_NO_FALSE},
    {.key = "runAsUser", .rule = POLICY_NOT_ROOT},
    {.key = "runAsGroup"},
    {.key = "seccompProfile", .rule = POLICY_KEPT, .fields = PROFILE},
    {.key = "appArmorProfile", .rule = POLICY_FIELDS, .fields = PROFILE},
    END};

/* --- probes and hooks: the kubelet calls the pod, and no other host */

static const struct policy_field HEADERS[] = {{.key = "name"}, {.key = "value"}, END};

static const struct policy_field HTTP_GET[] = {
    {.key = "path"},
    {.key = "port"},
    {.key = "scheme"},
    {.key = "httpHeaders", .rule = POLICY_ITEMS, .fields = HEADERS},
    END};

static const struct policy_field EXEC[] = {{.key = "command"}, END};
static const struct policy_field TCP_SOCKET[] = {{.key = "port"}, END};
static const struct policy_field GRPC[] = {{.key = "port"}, {.key = "service"}, END};
static const struct policy_field SLEEP[] = {{.key = "seconds"}, END};

static const struct policy_field PROBE[] = {
    {.key = "exec", .rule = POLICY_FIELDS, .fields = EXEC},
    {.key = "httpGet", .rule = POLICY_FIELDS, .fields = HTTP_GET},
    {.key = "tcpSocket", .rule = POLICY_FIELDS, .fields = TCP_SOCKET},
    {.key = "grpc", .rule = POLICY_FIELDS, .fields = GRPC},
    {.key = "initialDelaySeconds"},
    {.key = "timeoutSeconds"},
    {.key = "periodSeconds"},
    {.key = "successThreshold"},
    {.key = "failureThreshold"},
    END};

static const struct policy_field HOOK[] = {
    {.key = "exec", .rule = POLICY_FIELDS, .fields = EXEC},
    {.key = "httpGet", .rule = POLICY_FIELDS, .fields = HTTP_GET},
    {.key = "sleep", .rule = POLICY_FIELDS, .fields = SLEEP},
    END};

static const struct policy_field LIFECYCLE[] = {
    {.key = "postStart", .rule = POLICY_FIELDS, .fields = HOOK},
    {.key = "preStop", .rule = POLICY_FIELDS, .fields = HOOK},
    END};

/* --- containers */

static const struct policy_field VALUE_FROM[] = {
    {.key = "configMapKeyRef", .rule = POLICY_FIELDS, .fields = KEY_REF},
    {.key = "fieldRef", .rule = POLICY_FIELDS, .fields = FIELD_REF},
    {.key = "resourceFieldRef", .rule = POLICY_FIELDS, .fields = RESOURCE_REF},
    END};

static const struct policy_field ENV[] = {
    {.key = "name"},
    {.key = "value"},
    {.key = "valueFrom", .rule = POLICY_FIELDS, .fields = VALUE_FROM},
    END};

static const struct policy_field MAP_REF[] = {{.key = "name"}, {.key = "optional"}, END};

static const struct policy_field ENV_FROM[] = {
    {.key = "prefix"}, {.key = "configMapRef", .rule = POLICY_FIELDS, .fields = MAP_REF}, END};

static const struct policy_field PORTS[] = {{.key = "name"},
                                            {.key = "containerPort"},
                                            {.key = "protocol"},
                                            {.key = "hostPort", .rule = POLICY_NO_PORT},
                                            END};

static const struct policy_field MOUNTS[] = {{.key = "name"},
                                             {.key = "mountPath"},
                                             {.key = "readOnly"},
                                             {.key = "recursiveReadOnly"},
                                             {.key = "subPath"},
                                             {.key = "subPathExpr"},
                                             END};

static const struct policy_field RESOURCES[] = {{.key = "limits"}, {.key = "requests"}, END};

static const struct policy_field RESIZE[] = {
    {.key = "resourceName"}, {.key = "restartPolicy"}, END};

static const struct policy_field CONTAINER[] = {
    {.key = "name"},
    {.key = "image"},
    {.key = "imagePullPolicy"},
    {.key = "command"},
    {.key = "args"},
    {.key = "workingDir"},
    {.key = "env", .rule = POLICY_ITEMS, .fields = ENV},
    {.key = "envFrom", .rule = POLICY_ITEMS, .fields = ENV_FROM},
    {.key = "ports", .rule = POLICY_ITEMS, .fields = PORTS},
    {.key = "volumeMounts", .rule = POLICY_ITEMS, .fields = MOUNTS},
    {.key = "resources", .rule = POLICY_FIELDS, .fields = RESOURCES},
    {.key = "resizePolicy", .rule = POLICY_ITEMS, .fields = RESIZE},
    {.key = "restartPolicy", .rule = POLICY_ALWAYS},
    {.key = "livenessProbe", .rule = POLICY_FIELDS, .fields = PROBE},
    {.key = "readinessProbe", .rule = POLICY_FIELDS, .fields = PROBE},
    {.key = "startupProbe", .rule = POLICY_FIELDS, .fields = PROBE},
    {.key = "lifecycle", .rule = POLICY_FIELDS, .fields = LIFECYCLE},
    {.key = "securityContext", .rule = POLICY_KEPT, .fields = SECURITY},
    {.key = "stdin"},
    {.key = "stdinOnce"},
    {.key = "tty"},
    {.key = "terminationMessagePath"},
    {.key = "terminationMessagePolicy"},
    END};

static const struct policy_field OWN_CAPABILITIES[] = {
    {.key = "drop", .rule = POLICY_DROP_ALL, .required = true}, END};

static const struct policy_field OWN_SECURITY[] = {
    {.key = "allowPrivilegeEscalation", .rule = POLICY_ONLY_FALSE, .required = true},
    {.key = "capabilities", .rule = POLICY_KEPT, .fields = OWN_CAPABILITIES, .required = true},
    END};

static const struct policy_field OWN_MOUNTS[] = {{.key = "name", .rule = POLICY_NOT_TLS}, END};

static const struct policy_field OWN[] = {
    {.key = "securityContext", .rule = POLICY_KEPT, .fields = OWN_SECURITY, .required = true},
    {.key = "volumeMounts", .rule = POLICY_ITEMS, .fields = OWN_MOUNTS},
    END};

/* --- the pod */

static const struct policy_field TOLERATIONS[] = {
    {.key = "key"},    {.key = "operator"},          {.key = "value"},
    {.key = "effect"}, {.key = "tolerationSeconds"}, END};

static const struct policy_field AFFINITY[] = {
    {.key = "nodeAffinity"}, {.key = "podAffinity"}, {.key = "podAntiAffinity"}, END};

static const struct policy_field SPREAD[] = {
    {.key = "maxSkew"},          {.key = "topologyKey"},    {.key = "whenUnsatisfiable"},
    {.key = "labelSelector"},    {.key = "minDomains"},     {.key = "nodeAffinityPolicy"},
    {.key = "nodeTaintsPolicy"}, {.key = "matchLabelKeys"}, END};

static const struct policy_field DNS[] = {
    {.key = "nameservers"}, {.key = "searches"}, {.key = "options"}, END};

static const struct policy_field HOST_ALIASES[] = {{.key = "ip"}, {.key = "hostnames"}, END};
static const struct policy_field NAMES[] = {{.key = "name"}, END};

/* The operator's pod has no init container, so each of them is the user's own. */
static const struct policy_field SPEC[] = {
    {.key = "containers",
     .rule = POLICY_ITEMS,
     .fields = CONTAINER,
     .own = OWN,
     .merged = POLICY_DAEMON},
    {.key = "initContainers", .rule = POLICY_ITEMS, .fields = CONTAINER, .own = OWN},
    {.key = "volumes", .rule = POLICY_ITEMS, .fields = VOLUMES},
    {.key = "securityContext", .rule = POLICY_KEPT, .fields = POD_SECURITY},
    {.key = "automountServiceAccountToken", .rule = POLICY_ONLY_FALSE},
    {.key = "hostNetwork", .rule = POLICY_NO_TRUE},
    {.key = "hostPID", .rule = POLICY_NO_TRUE},
    {.key = "hostIPC", .rule = POLICY_NO_TRUE},
    {.key = "hostUsers", .rule = POLICY_NO_TRUE},
    {.key = "shareProcessNamespace", .rule = POLICY_NO_TRUE},
    {.key = "resources", .rule = POLICY_FIELDS, .fields = RESOURCES},
    {.key = "nodeSelector"},
    {.key = "affinity", .rule = POLICY_FIELDS, .fields = AFFINITY},
    {.key = "tolerations", .rule = POLICY_ITEMS, .fields = TOLERATIONS},
    {.key = "topologySpreadConstraints", .rule = POLICY_ITEMS, .fields = SPREAD},
    {.key = "terminationGracePeriodSeconds", .rule = POLICY_GRACE},
    {.key = "setHostnameAsFQDN", .rule = POLICY_FQDN},
    {.key = "schedulerName"},
    {.key = "priorityClassName", .rule = POLICY_NO_SYSTEM},
    {.key = "preemptionPolicy"},
    {.key = "runtimeClassName"},
    {.key = "restartPolicy", .rule = POLICY_ALWAYS},
    {.key = "imagePullSecrets", .rule = POLICY_ITEMS, .fields = NAMES},
    {.key = "enableServiceLinks"},
    {.key = "dnsPolicy"},
    {.key = "dnsConfig", .rule = POLICY_FIELDS, .fields = DNS},
    {.key = "hostAliases", .rule = POLICY_ITEMS, .fields = HOST_ALIASES},
    END};

const struct policy_field POLICY_TEMPLATE[] = {
    {.key = "metadata", .rule = POLICY_FIELDS, .fields = METADATA},
    {.key = "spec", .rule = POLICY_FIELDS, .fields = SPEC},
    END};

static const struct policy_field ALWAYS_SPEC[] = {
    {.key = "terminationGracePeriodSeconds", .rule = POLICY_GRACE},
    {.key = "setHostnameAsFQDN", .rule = POLICY_FQDN},
    END};

const struct policy_field POLICY_ALWAYS_TEMPLATE[] = {
    {.key = "spec", .rule = POLICY_FIELDS, .fields = ALWAYS_SPEC}, END};
