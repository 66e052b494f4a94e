// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"sync/atomic"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pods plays the Pods of Jobs that revoke keys: each succeeds, unless the first of its
// Job is to fail.
type pods struct {
	client client.Client
	// failing has the next Pod fail.
	failing atomic.Bool
}

func newPods(c client.Client) *pods { return &pods{client: c} }

func (p *pods) run(ctx context.Context) {
	const poll = 50 * time.Millisecond
	_ = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		p.finish(ctx)
		return false, nil
	})
}

// finish ends the Pods that run. What fails is tried again.
func (p *pods) finish(ctx context.Context) {
	var list corev1.PodList
	if err := p.client.List(ctx, &list, client.InNamespace(infra), client.MatchingLabels{"app": "maas-api-revocation"}); err != nil {
		return
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		if p.failing.CompareAndSwap(true, false) {
			pod.Status.Phase = corev1.PodFailed
		}
		_ = p.client.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
}

// complete tells whether a Job has succeeded.
func complete(job *batchv1.Job) bool {
	for _, c := range job.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
