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

const tokenLifetime = 7 * 24 * time.Hour

// Account is a ServiceAccount that a program under test runs as.
type Account struct {
	Namespace, Name string
	// Manifests is the directory, seen from the root of the repository, whose roles
	// and bindings an installation grants it.
	Manifests string
}

// User is the account's name in the audit log.
func (a Account) User() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// AccountConfig returns a client configuration with a token of the ServiceAccount,
// which has exactly the rights that its manifests grant. Like AdminConfig it has no
// client-side rate limit.
func (e *Env) AccountConfig(ctx context.Context, a Account) (*rest.Config, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.accounts[a] == nil {
		manifests, err := a.load()
		if err != nil {
			return nil, err
		}
		if err := e.grant(ctx, a, manifests); err != nil {
			return nil, err
		}
		token, err := e.requestToken(ctx, a)
		if err != nil {
			return nil, err
		}
		config := rest.AnonymousClientConfig(e.admin)
		config.BearerToken = token
		if err := a.awaitRights(ctx, config, manifests); err != nil {
			return nil, err
		}
		if e.accounts == nil {
			e.accounts = map[Account]*rest.Config{}
		}
		e.accounts[a] = config
	}
	return rest.CopyConfig(e.accounts[a]), nil
}

// AccountKubeconfig returns the path of a kubeconfig with the same identity.
func (e *Env) AccountKubeconfig(ctx context.Context, a Account) (string, error) {
	return e.accountKubeconfig(ctx, a, a.Name)
}

func (e *Env) accountKubeconfig(ctx context.Context, a Account, file string) (string, error) {
	config, err := e.AccountConfig(ctx, a)
	if err != nil {
		return "", err
	}
	path := e.kubeconfig(file)
	return path, writeKubeconfig(path, a.Name, a.Namespace, config)
}

// requestToken asks for a token of the ServiceAccount.
func (e *Env) requestToken(ctx context.Context, a Account) (string, error) {
	clientset, err := kubernetes.NewForConfig(e.admin)
	if err != nil {
		return "", fmt.Errorf("make client: %w", err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(tokenLifetime.Seconds())),
	}}
	response, err := clientset.CoreV1().ServiceAccounts(a.Namespace).CreateToken(ctx, a.Name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token for %s: %w", a.User(), err)
	}
	return response.Status.Token, nil
}
