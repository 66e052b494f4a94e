// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cases

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/engines"
	"github.com/opendatahub-io/maas-operator/test/service"
)

// The people and programs of each tenant. Nothing about them tells tenants apart.
const (
	// olga is a member of staff whom the tenant's provider knows, gina is a guest, otto is
	// a member of nothing.
	olga = "olga"
	gina = "gina"
	otto = "otto"
	// odd is a user whose name is made to break something.
	odd = `o"dd\ {auth.identity.sub} ' + "ödd|🦊`
	// agent is a ServiceAccount of namespace team, stranger of another one.
	agent    = "system:serviceaccount:team:agent"
	stranger = "system:serviceaccount:strangers:agent"
)

// Keys are API keys.
type Keys struct {
	// Olgas is bound to gold, Agents too. Opens is olga's too, for the model open.
	Olgas, Agents, Opens service.CreatedKey
	// Revoked and Expired were as good as Olgas.
	Revoked, Expired service.CreatedKey
	// Leaving is bound to the subscription that is being deleted, Tarnished to the one
	// whose limits are not enforced.
	Leaving, Tarnished service.CreatedKey
	// Unbound is of an earlier release: it has no subscription.
	Unbound service.CreatedKey
	// Odd is of a user with an odd name, for the model open.
	Odd service.CreatedKey
	// Wordy is bound to the subscription of the model that takes keys in x-api-key.
	Wordy service.CreatedKey
}

// Tokens are what is not a key.
type Tokens struct {
	// Agent and Stranger are the cluster's.
	Agent, Stranger string
	// AgentElsewhere is for another audience, AgentAtGateway for the one of MaaS alone.
	AgentElsewhere, AgentAtGateway string
	// Gone is of a ServiceAccount that was deleted, Tampered says another name than the
	// one that was signed.
	Gone, Tampered string
	// Olga, Gina, Otto and Odd are the provider's.
	Olga, Gina, Otto, Odd string
}

// Unknown is a key as one looks that nobody has been given.
const Unknown = "sk-oai-" + "0123456789abcdef01234567_" + "ThisKeyWasNeverGivenToAnybodyAtAllxxxxxxxxxxx"

// collect gets all credentials of a tenant.
func (s *Side) collect(ctx context.Context) error {
	if err := s.clusterTokens(ctx); err != nil {
		return err
	}
	// They log in as anybody would.
	for user, into := range map[string]*string{olga: &s.Tokens.Olga, gina: &s.Tokens.Gina, otto: &s.Tokens.Otto} {
		token, err := s.Tenant.OIDC.Token(ctx, user, s.Tenant.ClientID)
		if err != nil {
			return err
		}
		*into = token
	}
	var err error
	if s.Tokens.Odd, err = s.Tenant.Token(ctx, s.Tenant.Claims(odd)); err != nil {
		return err
	}
	return s.makeKeys(ctx)
}

func (s *Side) clusterTokens(ctx context.Context) error {
	for _, token := range []struct {
		into            *string
		namespace, name string
		audiences       []string
	}{
		{&s.Tokens.Agent, "team", "agent", nil},
		{&s.Tokens.Stranger, "strangers", "agent", nil},
		{&s.Tokens.AgentElsewhere, "team", "agent", []string{"https://elsewhere.example.com"}},
		{&s.Tokens.AgentAtGateway, "team", "agent", []string{"maas-default-gateway-sa"}},
		{&s.Tokens.Gone, "team", "gone-from-" + s.Tenant.Gateway.Name, nil},
	} {
		var err error
		if *token.into, err = s.world.ClusterToken(ctx, token.namespace, token.name, token.audiences...); err != nil {
			return err
		}
	}
	s.Tokens.Tampered = tampered(s.Tokens.Stranger, map[string]any{"sub": agent})
	return s.world.RemoveAccount(ctx, "team", "gone-from-"+s.Tenant.Gateway.Name)
}

// tampered is a token with other claims under the same signature.
func tampered(token string, claims map[string]any) string {
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	all := map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		panic(err) // The API server's tokens are JWTs.
	}
	maps.Copy(all, claims)
	text, err = json.Marshal(all)
	if err != nil {
		panic(err) // It was JSON.
	}
	parts[1] = base64.RawURLEncoding.EncodeToString(text)
	return strings.Join(parts, ".")
}

func (s *Side) makeKeys(ctx context.Context) error {
	keys := []struct {
		into                      *service.CreatedKey
		token, name, subscription string
	}{
		{&s.Keys.Olgas, s.Tokens.Olga, "olgas", gold},
		{&s.Keys.Opens, s.Tokens.Olga, "opens", everyone},
		{&s.Keys.Agents, s.Tokens.Agent, "agents", gold},
		{&s.Keys.Revoked, s.Tokens.Olga, "revoked", gold},
		{&s.Keys.Expired, s.Tokens.Olga, "expired", gold},
		{&s.Keys.Leaving, s.Tokens.Olga, "leaving", leaving},
		{&s.Keys.Unbound, s.Tokens.Olga, "unbound", gold},
		{&s.Keys.Odd, s.Tokens.Odd, `an "odd" {name}`, everyone},
	}
	if s.messages() {
		keys = append(keys, keys[0])
		keys[len(keys)-1].into, keys[len(keys)-1].name, keys[len(keys)-1].subscription = &s.Keys.Wordy, "wordy", wordy
	}
	for _, k := range keys {
		var err error
		if *k.into, err = s.Tenant.NewKey(ctx, k.token, service.CreateKey{Name: k.name, Subscription: k.subscription}); err != nil {
			return fmt.Errorf("key %s of %s: %w", k.name, s.Tenant, err)
		}
	}
	if err := s.Tenant.Revoke(ctx, s.Tokens.Olga, s.Keys.Revoked.ID); err != nil {
		return err
	}
	if err := s.world.Expire(ctx, s.Keys.Expired.ID); err != nil {
		return err
	}
	if err := s.world.Unbind(ctx, s.Keys.Unbound.ID); err != nil {
		return err
	}
	return s.awaitKeys(ctx)
}

// awaitKeys waits until maas-api knows what was done to keys behind its back.
func (s *Side) awaitKeys(ctx context.Context) error {
	direct, err := s.Tenant.Direct(ctx)
	if err != nil {
		return err
	}
	return world.Eventually(ctx, "keys to end", func(ctx context.Context) error {
		for _, k := range []service.CreatedKey{s.Keys.Revoked, s.Keys.Expired, s.Keys.Unbound} {
			if verdict, err := direct.Validate(ctx, k.Key); err != nil || verdict.Valid {
				return errors.Join(fmt.Errorf("key %s: %+v", k.Name, verdict), err)
			}
		}
		return nil
	})
}

// lie is a token of the tenant's provider that says what no honest one would of olga.
func (s *Side) lie(ctx context.Context, change func(engines.Claims) engines.Claims) (string, error) {
	return s.Tenant.Token(ctx, change(s.Tenant.Claims(olga, staff)))
}

// past is a time that is over.
func past() int64 { return time.Now().Add(-time.Hour).Unix() }

// future is a time that is to come.
func future() int64 { return time.Now().Add(time.Hour).Unix() }

// unsigned is a token with the algorithm "none".
func unsigned(claims engines.Claims) string {
	var parts []string
	for _, part := range []any{map[string]string{"alg": "none", "typ": "JWT"}, claims} {
		text, err := json.Marshal(part)
		if err != nil {
			panic(err) // Claims are JSON.
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(text))
	}
	return strings.Join(parts, ".") + "."
}
