// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

// accounts are the clients and users of the issuer.
type accounts struct {
	Clients []account `yaml:"clients"`
	Users   []user    `yaml:"users"`
}

// account is a client: a program that asks for tokens on behalf of users.
type account struct {
	ID string `yaml:"id"`
	// Audience is in "aud" besides the id.
	Audience []string `yaml:"audience"`
	// NoAuthorizedParty leaves "azp" out.
	NoAuthorizedParty bool `yaml:"noAuthorizedParty"`
}

// user is somebody who can log in.
type user struct {
	Name     string `yaml:"name"`
	Subject  string `yaml:"subject"`
	Password string `yaml:"password"`
	// Groups tells an empty claim from none, which is nil.
	Groups []string `yaml:"groups"`
}

// readAccounts refuses members it does not know: a misspelt "groups" would make
// another user than the author had in mind.
func readAccounts(file string) (*accounts, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --users: %w", err)
	}
	who := &accounts{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(who); err != nil {
		return nil, fmt.Errorf("read --users %s: %w", file, err)
	}
	if err := who.validate(); err != nil {
		return nil, fmt.Errorf("read --users %s: %w", file, err)
	}
	return who, nil
}

func (a *accounts) validate() error {
	seen := map[string]bool{}
	for _, c := range a.Clients {
		if c.ID == "" || seen["client "+c.ID] {
			return fmt.Errorf("client id %q is empty or given twice", c.ID)
		}
		seen["client "+c.ID] = true
	}
	for _, u := range a.Users {
		if u.Name == "" || seen["user "+u.Name] {
			return fmt.Errorf("user name %q is empty or given twice", u.Name)
		}
		if u.Subject == "" || seen["subject "+u.Subject] {
			return fmt.Errorf("subject %q of user %q is empty or given twice", u.Subject, u.Name)
		}
		seen["user "+u.Name], seen["subject "+u.Subject] = true, true
	}
	return nil
}

func (a *accounts) client(id string) (account, error) {
	for _, c := range a.Clients {
		if c.ID == id {
			return c, nil
		}
	}
	return account{}, fmt.Errorf("there is no client %q", id)
}

func (a *accounts) userBySubject(subject string) (user, error) {
	for _, u := range a.Users {
		if u.Subject == subject {
			return u, nil
		}
	}
	return user{}, fmt.Errorf("there is no subject %q", subject)
}

// authenticate tells nobody whether it was the name or the password.
func (a *accounts) authenticate(name, password string) (user, error) {
	for _, u := range a.Users {
		want := cmp.Or(u.Password, u.Name)
		if u.Name == name && subtle.ConstantTimeCompare([]byte(want), []byte(password)) == 1 {
			return u, nil
		}
	}
	return user{}, errors.New("wrong user name or password")
}

// claims are what tokens say about the user.
func (u user) claims() map[string]any {
	claims := map[string]any{"preferred_username": u.Name}
	if u.Groups != nil {
		claims["groups"] = u.Groups
	}
	return claims
}
