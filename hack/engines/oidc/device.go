// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"sync"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// devices are the logins that clients have begun and users have yet to complete.
type devices struct {
	who *accounts

	mu      sync.Mutex
	pending map[string]*pending // by device code
}

// pending is one login: the client knows it by its device code, the user by the
// code the client shows.
type pending struct {
	userCode string
	state    op.DeviceAuthorizationState
}

// StoreDeviceAuthorization begins a login, and forgets those that took too long.
func (s *storage) StoreDeviceAuthorization( //nolint:revive // The library wants as many.
	_ context.Context, clientID, deviceCode, userCode string, expires time.Time, scopes []string,
) error {
	requester, err := s.who.client(clientID)
	if err != nil {
		return err
	}
	audience := append([]string{clientID}, requester.Audience...)
	return s.devices.begin(deviceCode, &pending{
		userCode: userCode,
		state:    op.DeviceAuthorizationState{ClientID: clientID, Audience: audience, Scopes: scopes, Expires: expires},
	})
}

// GetDeviceAuthorizatonState tells the client how far its user is. A login that is
// complete is told once.
func (s *storage) GetDeviceAuthorizatonState(_ context.Context, clientID, deviceCode string) (*op.DeviceAuthorizationState, error) {
	return s.devices.stateOf(clientID, deviceCode)
}

func (d *devices) begin(deviceCode string, p *pending) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil {
		d.pending = map[string]*pending{}
	}
	for code, other := range d.pending {
		if time.Now().After(other.state.Expires) {
			delete(d.pending, code)
		} else if other.userCode == p.userCode {
			return op.ErrDuplicateUserCode
		}
	}
	d.pending[deviceCode] = p
	return nil
}

func (d *devices) stateOf(clientID, deviceCode string) (*op.DeviceAuthorizationState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.pending[deviceCode]
	if p == nil || p.state.ClientID != clientID {
		return nil, errors.New("unknown device code")
	}
	if p.state.Done {
		delete(d.pending, deviceCode)
	}
	state := p.state
	return &state, nil
}

// complete says who the user of a login is.
func (d *devices) complete(userCode, name, password string) error {
	u, err := d.who.authenticate(name, password)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.pending {
		if p.userCode == userCode && !p.state.Done && time.Now().Before(p.state.Expires) {
			p.state.Done, p.state.Subject = true, u.Subject
			p.state.AMR, p.state.AuthTime = []string{"pwd"}, time.Now()
			return nil
		}
	}
	return errors.New("unknown code")
}

// showLogin is the page on which users log in.
func (d *devices) showLogin(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><title>Log in</title><form method="post">
<p><label>Code <input name="user_code" value="%s"></label>
<p><label>User <input name="username"></label>
<p><label>Password <input name="password" type="password"></label>
<p><button>Log in</button></form>
`, html.EscapeString(r.URL.Query().Get("user_code")))
}

// login takes what the page sends.
func (d *devices) login(w http.ResponseWriter, r *http.Request) {
	const maxForm = 64 << 10
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "cannot read the form", http.StatusBadRequest)
		return
	}
	form := r.PostForm
	if err := d.complete(form.Get("user_code"), form.Get("username"), form.Get("password")); err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	fmt.Fprintln(w, "You are logged in and can close this page.")
}
