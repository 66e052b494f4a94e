// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// OperatorNamespace is where the operator runs.
	OperatorNamespace = "opendatahub"
	// OperatorServiceAccount is what it runs as.
	OperatorServiceAccount = "maas-controller"
	// OperatorUser is the operator's name in the audit log.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorServiceAccount

	operatorTokenLifetime = 7 * 24 * time.Hour
)

// OperatorConfig returns a client configuration with a token of the operator's
// ServiceAccount, which has exactly the rights that the manifests in
// config/rbac grant. Like AdminConfig it has no client-side rate limit.
func (e *Env) OperatorConfig(ctx context.Context) (*rest.Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.operator == nil {
		manifests, err := loadRBAC()
		if err != nil {
			return nil, err
		}
		if err := e.applyRBAC(ctx, manifests); err != nil {
			return nil, err
		}
		token, err := e.requestToken(ctx)
		if err != nil {
			return nil, err
		}
		config := rest.AnonymousClientConfig(e.admin)
		config.BearerToken = token
		if err := awaitRights(ctx, config, manifests); err != nil {
			return nil, err
		}
		e.operator = config
	}
	return rest.CopyConfig(e.operator), nil
}

// OperatorKubeconfig returns the path of a kubeconfig with the same identity.
func (e *Env) OperatorKubeconfig(ctx context.Context) (string, error) {
	config, err := e.OperatorConfig(ctx)
	if err != nil {
		return "", err
	}
	path := e.kubeconfig("operator")
	return path, writeKubeconfig(path, OperatorServiceAccount, OperatorNamespace, config)
}

// requestToken asks for a token of the operator's ServiceAccount.
func (e *Env) requestToken(ctx context.Context) (string, error) {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(operatorTokenLifetime.Seconds())),
	}}
	response, err := clientset.CoreV1().ServiceAccounts(OperatorNamespace).
		CreateToken(ctx, OperatorServiceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for %s: %w", OperatorUser, err)
	}
	return response.Status.Token, nil
}
