// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// simulatedNodes is how many nodes there are: enough for a Deployment to spread.
const simulatedNodes = 3

// createNodes makes the Node objects that KWOK brings to life.
func (e *Env) createNodes(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	for n := range simulatedNodes {
		node := simulatedNode(fmt.Sprintf("node-%d", n))
		_, err := clientset.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	return nil
}

func simulatedNode(name string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("64"),
		corev1.ResourceMemory: resource.MustParse("512Gi"),
		corev1.ResourcePods:   resource.MustParse("1000"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:   name,
				corev1.LabelOSStable:   "linux",
				corev1.LabelArchStable: "amd64",
			},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
	}
}

// nodesReady fails until every simulated node is ready and free of the taint
// that keeps pods away from new nodes.
func (e *Env) nodesReady(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	nodes, err := clientset.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	ready := 0
	for i := range nodes.Items {
		if nodeReady(&nodes.Items[i]) {
			ready++
		}
	}
	if ready < simulatedNodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, simulatedNodes)
	}
	return nil
}

func nodeReady(node *corev1.Node) bool {
	if len(node.Spec.Taints) > 0 {
		return false
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// defaultServiceAccount fails until the controllers have made the account that
// pods in the namespace "default" use: from then on new namespaces work too.
func (e *Env) defaultServiceAccount(ctx context.Context) error {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if _, err := clientset.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return fmt.Errorf("get service account: %w", err)
	}
	return nil
}
