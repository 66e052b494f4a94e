// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/service"
)

const (
	// ClusterAudience is that of the cluster's own tokens.
	ClusterAudience = "https://kubernetes.default.svc"

	// tokenLifetime is longer than any suite takes.
	tokenLifetime = 4 * time.Hour
)

// ClusterToken is a token of a ServiceAccount, which is made with its namespace if it
// is not there. Without audiences it is for the cluster's own. The API server says of
// it that it is system:serviceaccount:<namespace>:<name>, a member of
// system:serviceaccounts and system:serviceaccounts:<namespace>.
func (w *World) ClusterToken(ctx context.Context, namespace, name string, audiences ...string) (string, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, o := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, account.DeepCopy()} {
		if err := client.IgnoreAlreadyExists(w.Admin.Create(ctx, o)); err != nil {
			return "", fmt.Errorf("make %T %s: %w", o, client.ObjectKeyFromObject(o), err)
		}
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: audiences, ExpirationSeconds: new(int64(tokenLifetime.Seconds())),
	}}
	if err := w.Admin.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("request a token of %s: %w", client.ObjectKeyFromObject(account), err)
	}
	return request.Status.Token, nil
}

// RemoveAccount deletes a ServiceAccount, whose tokens are worth nothing from then on.
func (w *World) RemoveAccount(ctx context.Context, namespace, name string) error {
	return w.Admin.Delete(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// Claims are those of an honest token of the tenant's provider for the tenant's client,
// to start from for one that lies. Without groups there is no such claim.
func (t *Tenant) Claims(user string, groups ...string) engines.Claims {
	now := time.Now()
	claims := engines.Claims{
		"iss": t.OIDC.Issuer(), "sub": "subject-of-" + user, "preferred_username": user,
		"aud": []string{t.ClientID}, "azp": t.ClientID,
		"iat": now.Unix(), "exp": now.Add(tokenLifetime).Unix(),
	}
	if len(groups) > 0 {
		claims["groups"] = groups
	}
	return claims
}

// Token is a token of the tenant's provider with exactly these claims.
func (t *Tenant) Token(ctx context.Context, claims engines.Claims) (string, error) {
	return t.OIDC.Mint(ctx, claims)
}

// NewKey makes an API key at the tenant's gateway, as whoever has the token.
func (t *Tenant) NewKey(ctx context.Context, token string, key service.CreateKey) (service.CreatedKey, error) {
	return t.Visitor().Bearer(token).Create(ctx, key)
}

// Revoke ends an API key at the tenant's gateway, as whoever has the token.
func (t *Tenant) Revoke(ctx context.Context, token, id string) error {
	_, err := t.Visitor().Bearer(token).Revoke(ctx, id)
	return err
}

// Expire lets the time of an API key be over, which cannot be asked for.
func (w *World) Expire(ctx context.Context, id string) error {
	return w.alter(ctx, `UPDATE api_keys SET expires_at = now() - interval '1 minute' WHERE id = $1`, id)
}

// Unbind takes an API key's subscription away, as earlier releases had keys without.
func (w *World) Unbind(ctx context.Context, id string) error {
	return w.alter(ctx, `UPDATE api_keys SET subscription = '' WHERE id = $1`, id)
}

func (w *World) alter(ctx context.Context, query, id string) error {
	tag, err := w.parts.Rows.Exec(ctx, query, id)
	if err == nil && tag.RowsAffected() != 1 {
		err = fmt.Errorf("there are %d such keys", tag.RowsAffected())
	}
	if err != nil {
		return fmt.Errorf("alter key %s: %w", id, err)
	}
	return nil
}
