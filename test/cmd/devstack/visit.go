// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
)

const (
	admitTimeout = 2 * time.Minute
	admitPoll    = 100 * time.Millisecond
	// keyLife is long enough for a stack that is used for some days.
	keyLife = "7d"
	prompt  = "Hello from the development stack"

	askedGateway = "gateway"
	askedService = "maas-api"
)

// visit is the way of one caller: from a token to a key, and from the key to an
// answer of the model.
type visit struct {
	*caller
	model    sampleModel
	endpoint string
	// gateway and service are URLs.
	gateway, service string
	token            string
	report           visitReport
	key, keyID       string
	// id is what requests call the model.
	id string
}

// newVisit prepares a visit to what runs of a tenant.
func (s *stack) newVisit(ctx context.Context, tenant string) (*visit, error) {
	t, err := s.site(tenant)
	if err != nil {
		return nil, err
	}
	service, err := s.serviceAddress(ctx, t.service())
	if err != nil {
		return nil, err
	}
	ca, err := s.env.ServerAuthority()
	if err != nil {
		return nil, err
	}
	client, err := newCaller(ca, t.model.Hostname, s.state.Addresses[t.gatewayProcess()])
	if err != nil {
		return nil, err
	}
	endpoint, err := s.endpoint(ctx, t.model.Ref)
	if err != nil {
		return nil, err
	}
	return &visit{
		caller: client, model: t.model, endpoint: endpoint, gateway: "https://" + t.model.Hostname,
		service: "https://" + service, token: s.state.Token,
	}, nil
}

// endpoint is where the operator says that a model is.
func (s *stack) endpoint(ctx context.Context, ref types.NamespacedName) (string, error) {
	c, err := s.client()
	if err != nil {
		return "", err
	}
	var m v1alpha1.MaaSModelRef
	if err := c.Get(ctx, ref, &m); err != nil {
		return "", fmt.Errorf("get MaaSModelRef %s: %w", ref, err)
	}
	return m.Status.Endpoint, nil
}

// visitModel waits until maas-api and the gateway have noticed what the operator
// did, then makes the visit, and keeps its report and its key.
func (s *stack) visitModel(ctx context.Context, tenant string) error {
	v, err := s.newVisit(ctx, tenant)
	if err != nil {
		return err
	}
	defer v.close()
	if err := v.awaitAdmission(ctx); err != nil {
		return err
	}
	if err := v.run(ctx); err != nil {
		return err
	}
	v.report.Engines = s.engines
	s.visited = v
	l := s.layout.of(tenant)
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	return l.writeKey(v.key)
}

// awaitAdmission waits until the model lets the caller in. That opens the
// connections too, so that no call pays for them.
func (v *visit) awaitAdmission(ctx context.Context) error {
	var last error
	err := poll(ctx, admitTimeout, admitPoll, func(ctx context.Context) (bool, error) {
		var reply selection
		_, err := v.do(ctx, v.selectRequest(callerName, []string{callerGroup}, ""), &reply)
		if err == nil && !reply.AccessAllowed {
			err = fmt.Errorf("select: %s", cmp.Or(reply.Message, "no access"))
			last = err
			return false, nil
		}
		if err == nil {
			_, err = v.do(ctx, request{method: http.MethodGet, url: v.endpoint + "/v1/models", credential: v.token, want: http.StatusOK}, nil)
		}
		last = err
		if err != nil && !refused(err) {
			return false, err
		}
		return err == nil, nil
	})
	if err != nil && last != nil {
		return errors.Join(err, last)
	}
	return err
}

// run makes the calls, one after the other.
func (v *visit) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{v.mint, v.validate, v.validate, v.choose, v.list, v.chat} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// call makes one call and notes it.
func (v *visit) call(ctx context.Context, note callReport, r request, into any, answer func() string) error {
	got, err := v.do(ctx, r, into)
	if err != nil {
		return fmt.Errorf("%s: %w", note.What, err)
	}
	note.Request, note.Status, note.Took, note.Answer = r.method+" "+pathOf(r.url), got.status, got.took, answer()
	v.report.Calls = append(v.report.Calls, note)
	return nil
}

func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	_, path, _ := strings.Cut(rest, "/")
	return "/" + path
}

func (v *visit) mint(ctx context.Context) error {
	var reply struct {
		Key, KeyPrefix, ID, Subscription, ExpiresAt string
	}
	return v.call(ctx, callReport{What: "create key", Asked: askedGateway}, request{
		method: http.MethodPost, url: v.gateway + "/v1/api-keys", credential: v.token, want: http.StatusCreated,
		body: map[string]any{"name": "devstack", "subscription": callerSubscription, "expiresIn": keyLife},
	}, &reply, func() string {
		v.key, v.keyID = reply.Key, reply.ID
		return fmt.Sprintf("%s of %s, until %s", reply.KeyPrefix, reply.Subscription, reply.ExpiresAt)
	})
}

func (v *visit) validate(ctx context.Context) error {
	var reply struct {
		Valid            bool
		Username, Reason string
		Groups           []string
		Subscription     string
	}
	err := v.call(ctx, callReport{What: "validate", Asked: askedService}, request{
		method: http.MethodPost, url: v.service + "/internal/v1/api-keys/validate", want: http.StatusOK, body: map[string]any{"key": v.key},
	}, &reply, func() string {
		return fmt.Sprintf("valid: %s in %s", reply.Username, strings.Join(reply.Groups, ", "))
	})
	if err == nil && !reply.Valid {
		return fmt.Errorf("validate: the new key is not valid: %s", reply.Reason)
	}
	return err
}

// selection is the part of a selection that is looked at.
type selection struct {
	SubscriptionKey, Message string
	AccessAllowed            bool
}

// selectRequest asks as the gateway does which subscription a request of the caller
// counts against.
func (v *visit) selectRequest(user string, groups []string, subscription string) request {
	return request{
		method: http.MethodPost, url: v.service + "/internal/v1/subscriptions/select", want: http.StatusOK,
		body: map[string]any{"username": user, "groups": groups, "requestedSubscription": subscription, "requestedModel": v.model.Ref.String()},
	}
}

func (v *visit) choose(ctx context.Context) error {
	var reply selection
	err := v.call(ctx, callReport{What: "select", Asked: askedService}, v.selectRequest(callerName, []string{callerGroup}, callerSubscription), &reply, func() string {
		return reply.SubscriptionKey
	})
	if err == nil && !reply.AccessAllowed {
		return fmt.Errorf("select: %s may not use %s: %s", callerName, v.model.Ref, reply.Message)
	}
	return err
}

// listed is a model of a listing.
type listed struct{ ID, URL string }

func (v *visit) list(ctx context.Context) error {
	var reply struct{ Data []listed }
	err := v.call(ctx, callReport{What: "list models", Asked: askedGateway}, request{
		method: http.MethodGet, url: v.gateway + "/v1/models", credential: v.key, want: http.StatusOK,
	}, &reply, func() string {
		var names []string
		for _, m := range reply.Data {
			names = append(names, m.ID)
		}
		return fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", "))
	})
	if err != nil {
		return err
	}
	at := slices.IndexFunc(reply.Data, func(m listed) bool { return m.URL == v.endpoint })
	if at < 0 {
		return fmt.Errorf("list models: %s is not listed", v.endpoint)
	}
	v.id = reply.Data[at].ID
	return nil
}

func (v *visit) chat(ctx context.Context) error {
	var reply struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
		}
	}
	err := v.call(ctx, callReport{What: "chat", Asked: askedGateway}, request{
		method: http.MethodPost, url: v.endpoint + "/v1/chat/completions", credential: v.key, want: http.StatusOK,
		body: map[string]any{
			"model": v.id, "messages": []map[string]string{{"role": "user", "content": prompt}},
		},
	}, &reply, func() string {
		return fmt.Sprintf("usage: %d prompt + %d completion = %d tokens", reply.Usage.Prompt, reply.Usage.Completion, reply.Usage.Total)
	})
	if err == nil && reply.Usage.Total == 0 {
		return errors.New("chat: the answer tells no usage, so nothing could be counted")
	}
	return err
}
