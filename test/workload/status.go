// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// hostIP is the address that every node has.
	hostIP = "10.127.0.1"

	eventSource = "workload"
	eventName   = "workload-"
)

// phase is that of a Pod that was not deleted.
func (p *pod) phase() corev1.PodPhase {
	for _, c := range p.init {
		if c.failed() {
			return corev1.PodFailed
		}
		if !c.completed() {
			return corev1.PodPending
		}
	}
	over, failed, fresh := true, false, false
	for _, c := range p.main {
		over = over && c.state.Terminated != nil
		failed = failed || c.failed()
		fresh = fresh || !c.begun()
	}
	switch {
	case over && failed:
		return corev1.PodFailed
	case over:
		return corev1.PodSucceeded
	case fresh:
		return corev1.PodPending
	default:
		return corev1.PodRunning
	}
}

// report writes the status if it changed.
func (p *pod) report(ctx context.Context, phase corev1.PodPhase) error {
	status := p.status(phase)
	if p.sent != nil && equality.Semantic.DeepEqual(p.sent, status) {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.uid}, "status": status})
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	_, err = p.runner.client.CoreV1().Pods(p.key.Namespace).
		Patch(ctx, p.key.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone, and an event will tell.
	}
	if err == nil {
		p.sent = status
	}
	return err
}

func (p *pod) status(phase corev1.PodPhase) *corev1.PodStatus {
	status := &corev1.PodStatus{
		Phase: phase, HostIP: hostIP, HostIPs: []corev1.HostIP{{IP: hostIP}},
		PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}}, StartTime: &p.since,
	}
	initialized, ready := true, true
	for _, c := range p.init {
		status.InitContainerStatuses = append(status.InitContainerStatuses, c.status())
		initialized = initialized && c.completed()
	}
	for _, c := range p.main {
		status.ContainerStatuses = append(status.ContainerStatuses, c.status())
		ready = ready && c.ready()
	}
	reason := map[bool]string{true: "", false: "ContainersNotReady"}[ready]
	if ended(phase) {
		ready, reason = false, map[corev1.PodPhase]string{corev1.PodSucceeded: "PodCompleted", corev1.PodFailed: "PodFailed"}[phase]
	}
	p.condition(status, corev1.PodInitialized, initialized, "")
	p.condition(status, corev1.ContainersReady, ready, reason)
	p.condition(status, corev1.PodReady, ready && initialized, reason)
	return status
}

// condition adds a condition; the time of one that did not change stays.
func (p *pod) condition(status *corev1.PodStatus, name corev1.PodConditionType, holds bool, reason string) {
	c := corev1.PodCondition{Type: name, Status: corev1.ConditionFalse, Reason: reason, LastTransitionTime: metav1.Now().Rfc3339Copy()}
	if holds {
		c.Status = corev1.ConditionTrue
	}
	if p.sent != nil {
		for i := range p.sent.Conditions {
			if old := &p.sent.Conditions[i]; old.Type == name && old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
	}
	status.Conditions = append(status.Conditions, c)
}

// warn tells of something that is in the way, once in a row.
func (p *pod) warn(ctx context.Context, reason, message string) {
	if p.warned == reason+message {
		return
	}
	p.warned = reason + message
	p.runner.logf("pod %s: %s: %s", p.key, reason, message)
	now := metav1.Now()
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: p.key.Namespace, GenerateName: eventName},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.key.Namespace, Name: p.key.Name, UID: p.uid},
		Type:           corev1.EventTypeWarning, Reason: reason, Message: message,
		Source: corev1.EventSource{Component: eventSource}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if _, err := p.runner.client.CoreV1().Events(p.key.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil && ctx.Err() == nil {
		p.runner.logf("pod %s: write an event: %v", p.key, err)
	}
}
