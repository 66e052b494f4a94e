// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"

	"k8s.io/client-go/rest"
)

const (
	// OperatorNamespace is where the operator runs.
	OperatorNamespace = "opendatahub"
	// OperatorServiceAccount is what it runs as.
	OperatorServiceAccount = "maas-controller"
	// OperatorUser is the operator's name in the audit log.
	OperatorUser = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorServiceAccount
)

// operatorAccount is the operator's ServiceAccount.
func operatorAccount() Account {
	return Account{Namespace: OperatorNamespace, Name: OperatorServiceAccount, Manifests: "config/rbac"}
}

// OperatorConfig returns a client configuration with a token of the operator's
// ServiceAccount, which has exactly the rights that the manifests in
// config/rbac grant. Like AdminConfig it has no client-side rate limit.
func (e *Env) OperatorConfig(ctx context.Context) (*rest.Config, error) {
	return e.AccountConfig(ctx, operatorAccount())
}

// OperatorKubeconfig returns the path of a kubeconfig with the same identity.
func (e *Env) OperatorKubeconfig(ctx context.Context) (string, error) {
	return e.accountKubeconfig(ctx, operatorAccount(), "operator")
}
