// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"strconv"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

const (
	defaultReplicas    = 1
	maxReplicas        = 100
	defaultMaxReplicas = 10
	defaultCPU         = 70
	defaultMemory      = 80
)

// size is how many pods the second processor has.
type size struct {
	// replicas is their number, or the smallest one when they are autoscaled.
	replicas int64
	// autoscaled is set when the others count.
	autoscaled               bool
	maxReplicas, cpu, memory int64
}

// static is the number of pods in the Deployment: with an autoscaler it must have none,
// or each apply would undo what the autoscaler decided.
func (s size) static() []int64 {
	if s.autoscaled {
		return nil
	}
	return []int64{s.replicas}
}

// sizeOf resolves what a configuration leaves out.
func sizeOf(config *v1alpha1.MaasTenantConfig) (size, []string) {
	object := "MaasTenantConfig " + config.Namespace + "/" + config.Name
	spec := v1alpha1.PayloadProcessingConfig{}
	if config.Spec.PayloadProcessing != nil {
		spec = *config.Spec.PayloadProcessing
	}
	var warnings []string
	s := size{replicas: defaultReplicas}
	if text, annotated := config.Annotations[v1alpha1.AnnotationPayloadProcessingReplicas]; spec.Replicas != nil {
		s.replicas = within(spec.Replicas, defaultReplicas)
	} else if annotated {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && n >= 1 && n <= maxReplicas {
			s.replicas = n
		} else {
			warnings = append(warnings, object+": annotation "+v1alpha1.AnnotationPayloadProcessingReplicas+
				" is no number from 1 to 100, so that payload processing has one replica: remove the annotation, and set spec.payloadProcessing.replicas.")
		}
	}
	if spec.Autoscaling == nil {
		return s, warnings
	}
	s.autoscaled = true
	s.maxReplicas = within(spec.Autoscaling.MaxReplicas, defaultMaxReplicas)
	s.cpu = within(spec.Autoscaling.TargetCPUUtilization, defaultCPU)
	s.memory = within(spec.Autoscaling.TargetMemoryUtilization, defaultMemory)
	if s.replicas > s.maxReplicas {
		s.maxReplicas = s.replicas
		warnings = append(warnings, object+": payload processing has more replicas than spec.payloadProcessing.autoscaling.maxReplicas allows, so that as many are allowed: raise maxReplicas, or lower the replicas.")
	}
	return s, warnings
}

// within is a number from 1 to 100, or the default; objects of earlier releases may hold
// one that admission refuses today.
func within(n *int32, otherwise int64) int64 {
	if n == nil || *n < 1 || *n > maxReplicas {
		return otherwise
	}
	return int64(*n)
}
