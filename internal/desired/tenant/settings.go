// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"strconv"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/templates/values"
)

const (
	defaultKeyDays   = 90
	defaultReplicas  = 1
	maxReplicas      = 100
	defaultIssuer    = "rhai-ca-issuer"
	defaultIssuerRef = "ClusterIssuer"
	// unprivilegedUser is the user of the images. OpenShift gives each namespace users
	// of its own; elsewhere the kubelet refuses an image whose user it cannot tell from
	// root.
	unprivilegedUser = 65532
)

// runAsUser is the user pods run as; empty where the platform chooses one.
func (s Settings) runAsUser() []int64 {
	if s.Platform == OpenShift {
		return nil
	}
	return []int64{unprivilegedUser}
}

// authority is where the pods of a tenant find the authority of serving
// certificates.
func (s Settings) authority(servingCert string) values.Authority {
	if s.Platform == OpenShift {
		return values.Authority{ConfigMap: []string{serviceCA}, Key: serviceCAKey}
	}
	return values.Authority{Secret: []string{servingCert}, Key: certificateCAKey}
}

func (i CertIssuer) orDefault() CertIssuer {
	if i.Kind == "" {
		i.Kind = defaultIssuerRef
	}
	if i.Name == "" {
		i.Name = defaultIssuer
	}
	return i
}

// apiResources are those of maas-api: room for 250,000 keys held in memory, which
// take 226 MiB under load, and for bursts. See docs/operations/maas-api-performance.md.
func apiResources() values.Resources {
	return values.Resources{RequestCPU: "100m", RequestMemory: "256Mi", LimitCPU: "2", LimitMemory: "512Mi"}
}

// jobResources are those of a program that makes one call, or one statement.
func jobResources() values.Resources {
	return values.Resources{RequestCPU: "10m", RequestMemory: "32Mi", LimitCPU: "200m", LimitMemory: "128Mi"}
}

// keyDays are the bounds of keys that a spec asks for.
func keyDays(spec *v1alpha1.TenantAPIKeysConfig) values.MaaSAPIKeys {
	keys := values.MaaSAPIKeys{MaxExpirationDays: defaultKeyDays, DeletionRetentionDays: defaultKeyDays}
	if spec == nil {
		return keys
	}
	keys.MaxExpirationDays = days(spec.MaxExpirationDays)
	keys.DeletionRetentionDays = days(spec.DeletionRetentionDays)
	return keys
}

// days is a number of days, or the default; objects of earlier releases may hold
// one that admission refuses today.
func days(n *int32) int64 {
	if n == nil || *n < 1 {
		return defaultKeyDays
	}
	return int64(*n)
}

// replicas is the number of pods an annotation asks for.
func replicas(config *v1alpha1.MaasTenantConfig) (int64, []Warning) {
	text, set := config.Annotations[v1alpha1.AnnotationMaasAPIReplicas]
	if !set {
		return defaultReplicas, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > maxReplicas {
		return defaultReplicas, []Warning{{
			Reason: v1alpha1.ReasonInvalidReplicaAnnotation,
			Message: "MaasTenantConfig " + config.Namespace + "/" + config.Name + ": annotation " + v1alpha1.AnnotationMaasAPIReplicas +
				" is no number from 1 to 100, so that maas-api has one replica: correct the annotation, or remove it.",
		}}
	}
	return n, nil
}
