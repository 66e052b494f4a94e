// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package keyindex

import (
	"slices"
	"strings"
	"sync"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// interner keeps one copy of what many records have in common: names of users
// and subscriptions, and lists of groups. It counts who uses a copy, so that it
// holds nothing that no record holds.
type interner struct {
	mu    sync.Mutex
	words map[string]word
	lists map[string]list
	key   []byte
}

type word struct {
	text string
	uses int
}

type list struct {
	groups []string
	uses   int
}

func newInterner() *interner {
	return &interner{words: map[string]word{}, lists: map[string]list{}}
}

// acquire returns a record that shares what it can, and holds on to no memory
// of the given one.
func (n *interner) acquire(r *apikey.Record) apikey.Record {
	text := r.ID + r.Name
	out := apikey.Record{
		ID: text[:len(r.ID)], Name: text[len(r.ID):],
		Status: constant(r.Status), ExpiresAt: r.ExpiresAt,
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	out.Username = n.word(r.Username)
	out.Subscription = n.word(r.Subscription)
	out.Groups = n.list(r.Groups)
	return out
}

// release gives back what acquire returned.
func (n *interner) release(r *apikey.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dropWord(r.Username)
	n.dropWord(r.Subscription)
	n.dropList(r.Groups)
}

func (n *interner) word(text string) string {
	if text == "" {
		return ""
	}
	w, known := n.words[text]
	if !known {
		w.text = strings.Clone(text)
	}
	w.uses++
	n.words[w.text] = w
	return w.text
}

func (n *interner) dropWord(text string) {
	w, known := n.words[text]
	if !known {
		return
	}
	if w.uses--; w.uses == 0 {
		delete(n.words, text)
		return
	}
	n.words[text] = w
}

// list returns nil for no groups. Two lists may only share a copy when they are
// equal: joined, ["a\x00b"] looks like ["a", "b"], and the later of them is
// given a copy of its own.
func (n *interner) list(groups []string) []string {
	if len(groups) == 0 {
		return nil
	}
	key := n.joined(groups)
	l, known := n.lists[string(key)]
	if known && !slices.Equal(l.groups, groups) {
		return slices.Clone(groups)
	}
	name := string(key)
	if !known {
		l.groups = split(name, groups)
	}
	l.uses++
	n.lists[name] = l
	return l.groups
}

func (n *interner) dropList(groups []string) {
	if len(groups) == 0 {
		return
	}
	key := n.joined(groups)
	l, known := n.lists[string(key)]
	if !known || &l.groups[0] != &groups[0] {
		return
	}
	if l.uses--; l.uses == 0 {
		delete(n.lists, string(key))
		return
	}
	n.lists[string(key)] = l
}

// joined is the key of a list, good until the next call.
func (n *interner) joined(groups []string) []byte {
	n.key = n.key[:0]
	for _, g := range groups {
		n.key = append(n.key, g...)
		n.key = append(n.key, 0)
	}
	return n.key
}

// split returns the groups as parts of the text that they were joined to.
func split(joined string, groups []string) []string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i], joined = joined[:len(g)], joined[len(g)+1:]
	}
	return out
}

// constant spares a copy of the status in each record.
func constant(s apikey.Status) apikey.Status {
	switch s {
	case apikey.StatusActive:
		return apikey.StatusActive
	case apikey.StatusExpired:
		return apikey.StatusExpired
	default:
		return apikey.StatusRevoked
	}
}
