// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/entitlement"
)

// CreateRequest asks for a new key.
type CreateRequest struct {
	// Name is required unless the key is ephemeral.
	Name, Description string
	// Subscription is a name, bare or with its namespace; blank chooses one.
	Subscription string
	// ExpiresIn is what [ParseExpiresIn] reads.
	ExpiresIn json.RawMessage
	Ephemeral bool
	Labels    map[string]string
}

// Created is a new key with its text, which is known nowhere else.
type Created struct {
	Key    Key
	Secret Secret
}

// Create makes a key for the actor. What is wrong with the request is told in a
// fixed order: name missing, labels, name, description, groups, expiry,
// subscription, quota.
func (s *Service) Create(ctx context.Context, a Actor, r CreateRequest) (Created, error) {
	k, err := s.draft(a, r)
	if err != nil {
		return Created{}, err
	}
	lifetime, err := s.lifetime(ctx, a, r.ExpiresIn, r.Ephemeral)
	if err != nil {
		s.countMint(err)
		if !breaksRule(err) {
			s.audit(ctx, AuditEvent{Action: ActionCreate, Actor: a.Username, TargetSubscription: strings.TrimSpace(r.Subscription)}, err)
		}
		return Created{}, err
	}
	k.ExpiresAt = k.CreatedAt.Add(lifetime).Truncate(time.Microsecond)
	created, err := s.mint(ctx, a, k, strings.TrimSpace(r.Subscription))
	s.countMint(err)
	event := AuditEvent{Action: ActionCreate, Actor: a.Username, KeyID: created.Key.ID, TargetSubscription: created.Key.Subscription}
	if err == nil {
		event.Count = 1
	} else {
		event.TargetSubscription = strings.TrimSpace(r.Subscription)
	}
	s.audit(ctx, event, err)
	return created, err
}

// breaksRule tells that a request is wrong in itself, whoever makes it.
func breaksRule(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == KindInvalid
}

// draft checks what needs neither a decision nor the store.
func (s *Service) draft(a Actor, r CreateRequest) (Key, error) {
	now := s.clock.Now()
	if err := checkActor(a); err != nil {
		return Key{}, err
	}
	if r.Name == "" && !r.Ephemeral {
		return Key{}, invalid("name is required for non-ephemeral keys")
	}
	if err := CheckLabels(r.Labels); err != nil {
		return Key{}, err
	}
	name, err := nameOf(r.Name, r.Ephemeral, now)
	if err != nil {
		return Key{}, err
	}
	if err := checkDescription(r.Description); err != nil {
		return Key{}, err
	}
	if err := checkGroups(a.Groups); err != nil {
		return Key{}, err
	}
	return Key{
		Username: a.Username, Name: name, Description: r.Description, Tenant: s.tenant,
		Groups: append([]string{}, a.Groups...), Labels: r.Labels, Status: StatusActive, Ephemeral: r.Ephemeral,
		CreatedAt: now.UTC().Truncate(time.Microsecond), // What the store can keep.
	}, nil
}

// mint binds a key to a subscription and stores it.
func (s *Service) mint(ctx context.Context, a Actor, k Key, requested string) (Created, error) {
	subscription, err := s.bind(ctx, a, requested)
	if err != nil {
		return Created{}, err
	}
	k.Subscription = subscription.Name
	if err := s.checkQuota(ctx, a); err != nil {
		return Created{}, err
	}
	secret, err := Generate(s.random)
	if err != nil {
		return Created{}, s.failed(ctx, failedCreate, err)
	}
	id, err := uuid.NewRandomFromReader(s.random)
	if err != nil {
		return Created{}, s.failed(ctx, failedCreate, err)
	}
	k.ID = id.String()
	if err := s.store.Insert(ctx, NewKey{Key: k, Digest: secret.Digest()}); err != nil {
		return Created{}, s.failed(ctx, failedCreate, err)
	}
	return Created{Key: k, Secret: secret}, nil
}

const failedCreate = "Failed to create API key"

// bind returns the subscription of a new key. Why there is none is told only
// when it is about the state of one that is the caller's.
func (s *Service) bind(ctx context.Context, a Actor, requested string) (*v1alpha1.MaaSSubscription, error) {
	if s.subscriptions == nil {
		return nil, notReady(nil)
	}
	c, err := a.caller()
	if err == nil {
		var found *v1alpha1.MaaSSubscription
		if found, err = s.subscriptions.Mint(c, requested); err == nil {
			return found, nil
		}
	}
	var refusal entitlement.Refusal
	switch {
	case !errors.As(err, &refusal):
		_ = s.failed(ctx, failedCreate, err)
		return nil, notReady(err)
	case refusal.Code != entitlement.CodeModelUnhealthy:
		return nil, &Error{
			Kind: KindInvalid, Code: CodeInvalidSubscription,
			Message: "Unable to resolve a subscription for this API key",
		}
	case refusal.Phase == v1alpha1.PhaseFailed:
		return nil, &Error{Kind: KindForbidden, Code: CodeSubscriptionNotReady, Message: refusal.Message}
	default:
		return nil, &Error{Kind: KindInvalid, Code: CodeSubscriptionNotReady, Message: refusal.Message}
	}
}

func notReady(cause error) error {
	return &Error{
		Kind: KindUnavailable, Code: CodeNotReady, cause: cause,
		Message: "The subscriptions are not loaded yet: try again in a moment",
	}
}

// checkQuota bounds the active keys of a user. It counts and does not reserve:
// keys that are made at the same moment may exceed the bound by their number.
func (s *Service) checkQuota(ctx context.Context, a Actor) error {
	if s.maxKeysPerUser == 0 {
		return nil
	}
	active, err := s.store.CountActive(ctx, Scope{Username: a.Username})
	if err != nil {
		return s.failed(ctx, failedCreate, err)
	}
	if active < s.maxKeysPerUser {
		return nil
	}
	return &Error{
		Kind: KindForbidden, Code: CodeKeyLimitReached,
		Message: fmt.Sprintf("A user may have %d active API keys at a time: revoke some, or wait until they expire", s.maxKeysPerUser),
	}
}

// countMint counts a request for a key that ended with err.
func (s *Service) countMint(err error) {
	result := mintSuccess
	switch resultOf(err) {
	case ResultSuccess:
	case ResultFailed:
		result = mintFailure
	default:
		result = mintRejected
	}
	s.metrics.mints.WithLabelValues(result).Inc()
}
