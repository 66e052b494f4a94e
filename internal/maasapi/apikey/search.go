// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a page of a search.
const (
	defaultLimit = 50
	maxLimit     = 100
)

// SearchRequest asks for keys, as a client writes it.
type SearchRequest struct {
	Filters Filters
	Sort    Sort
	// Page is nil for the first page of the usual size.
	Page *Page
}

// Filters must all hold; what is blank or nil is no filter.
type Filters struct {
	// Username is for administrators: others see their own keys whatever they
	// ask for, and may ask for no others.
	Username string
	// Status lists effective states, any of which will do.
	Status       []string
	Subscription string
	// IncludeEphemeral shows ephemeral keys too.
	IncludeEphemeral bool
	// LabelsContain are labels that a key must have, by the rules of new keys.
	LabelsContain map[string]string
	// The bounds of times are in RFC 3339 and exclude the given time.
	CreatedAfter, CreatedBefore, ExpiresAfter, ExpiresBefore, LastUsedAfter string
	// Parts of texts are found regardless of case.
	NameContains, DescriptionContains string
	HasExpiration, HasBeenUsed        *bool
}

// Sort is the order of the keys: the newest first, unless said otherwise.
type Sort struct {
	By, Order string
}

// Page says which part of the result to return: the part after Cursor, or after
// Offset keys.
type Page struct {
	Limit, Offset *int
	Cursor        string
}

// Results is a page of keys.
type Results struct {
	Keys []Key
	// More tells that there are keys behind these. Cursor gets them.
	More   bool
	Cursor string
}

// Search returns a page of the actor's keys, or of the tenant's for an
// administrator. What is wrong with the request is told in a fixed order:
// states, administrator, user, sorting, page, labels, other filters, cursor.
func (s *Service) Search(ctx context.Context, a Actor, r SearchRequest) (Results, error) {
	q, err := s.query(ctx, a, r)
	if err != nil {
		return Results{}, err
	}
	binding := bindingOf(s.tenant, q)
	if r.Page != nil && r.Page.Cursor != "" {
		if q.After, err = parseCursor(r.Page.Cursor, binding, q.SortBy); err != nil {
			return Results{}, err
		}
	}
	limit := q.Limit
	q.Limit++ // To see whether there is more.
	keys, err := s.store.Search(ctx, q)
	if err != nil {
		return Results{}, s.failed(ctx, "Failed to search API keys", err)
	}
	if len(keys) <= limit {
		return Results{Keys: keys}, nil
	}
	return Results{Keys: keys[:limit], More: true, Cursor: formatCursor(positionOf(&keys[limit-1], q.SortBy), binding)}, nil
}

// query checks everything but the cursor.
func (s *Service) query(ctx context.Context, a Actor, r SearchRequest) (Query, error) {
	if err := checkActor(a); err != nil {
		return Query{}, err
	}
	q := Query{
		Subscription: strings.TrimSpace(r.Filters.Subscription), IncludeEphemeral: r.Filters.IncludeEphemeral,
		Labels: r.Filters.LabelsContain, HasExpiration: r.Filters.HasExpiration, HasBeenUsed: r.Filters.HasBeenUsed,
	}
	var err error
	if q.Statuses, err = statusesOf(r.Filters.Status); err != nil {
		return Query{}, err
	}
	if q.Username, err = s.searchedUser(ctx, a, strings.TrimSpace(r.Filters.Username)); err != nil {
		return Query{}, err
	}
	if q.SortBy, q.Ascending, err = sortOf(r.Sort); err != nil {
		return Query{}, err
	}
	if q.Limit, q.Offset, err = pageOf(r.Page); err != nil {
		return Query{}, err
	}
	if err := CheckLabels(q.Labels); err != nil {
		return Query{}, err
	}
	if err := addTimes(&q, r.Filters); err != nil {
		return Query{}, err
	}
	if err := addTexts(&q, r.Filters); err != nil {
		return Query{}, err
	}
	return q, nil
}

func statusesOf(texts []string) ([]Status, error) {
	var statuses []Status
	for _, text := range texts {
		status := Status(strings.TrimSpace(text))
		switch status {
		case StatusActive, StatusRevoked, StatusExpired:
			statuses = append(statuses, status)
		default:
			return nil, invalid("invalid status '" + shortened(string(status)) + "': must be active, revoked, or expired")
		}
	}
	slices.Sort(statuses)
	return slices.Compact(statuses), nil
}

// searchedUser returns whose keys are looked for; empty means everybody's. Who
// asks for no more than their own keys need not be checked.
func (s *Service) searchedUser(ctx context.Context, a Actor, wanted string) (string, error) {
	if wanted == a.Username {
		return wanted, nil
	}
	admin, err := s.isAdmin(ctx, a)
	switch {
	case err != nil:
		return "", err
	case admin:
		return wanted, nil
	case wanted != "":
		return "", forbidden("non-admin users can only search their own API keys")
	default:
		return a.Username, nil
	}
}

func sortOf(sort Sort) (by SortField, ascending bool, err error) {
	by = SortField(strings.TrimSpace(sort.By))
	if by == "" {
		by = SortCreatedAt
	}
	if !by.Valid() {
		return "", false, invalid("invalid sort.by: must be one of: created_at, expires_at, last_used_at, name")
	}
	switch strings.ToLower(strings.TrimSpace(sort.Order)) {
	case "asc":
		return by, true, nil
	case "", "desc":
		return by, false, nil
	default:
		return "", false, invalid("invalid sort.order: must be asc or desc")
	}
}

// pageOf returns the size and the offset of a page. Whoever turns pages with a
// cursor need not repeat the size.
func pageOf(p *Page) (limit, offset int, err error) {
	if p == nil {
		return defaultLimit, 0, nil
	}
	switch {
	case p.Limit != nil:
		limit = min(*p.Limit, maxLimit)
	case p.Cursor != "":
		limit = defaultLimit
	}
	if p.Offset != nil {
		offset = *p.Offset
	}
	switch {
	case limit < 1:
		return 0, 0, invalid("pagination.limit must be at least 1")
	case offset < 0:
		return 0, 0, invalid("pagination.offset must be non-negative")
	case offset > 0 && p.Cursor != "":
		return 0, 0, invalid("pagination.cursor and pagination.offset exclude each other: leave the offset out")
	default:
		return limit, offset, nil
	}
}

// addTimes adds what is said about times, which must not contradict itself.
func addTimes(q *Query, f Filters) error {
	for _, bound := range []struct {
		member, text string
		at           *time.Time
	}{
		{"createdAfter", f.CreatedAfter, &q.CreatedAfter},
		{"createdBefore", f.CreatedBefore, &q.CreatedBefore},
		{"expiresAfter", f.ExpiresAfter, &q.ExpiresAfter},
		{"expiresBefore", f.ExpiresBefore, &q.ExpiresBefore},
		{"lastUsedAfter", f.LastUsedAfter, &q.LastUsedAfter},
	} {
		text := strings.TrimSpace(bound.text)
		if text == "" {
			continue
		}
		err := bound.at.UnmarshalText([]byte(text))
		if *bound.at = bound.at.UTC(); err != nil || !inCalendar(*bound.at) || bound.at.IsZero() {
			return invalid("invalid filters." + bound.member + ": must be a time in RFC 3339 such as 2026-01-31T12:00:00Z")
		}
	}
	never := func(has *bool) bool { return has != nil && !*has }
	switch {
	case empty(q.CreatedAfter, q.CreatedBefore):
		return invalid("filters.createdAfter must be earlier than filters.createdBefore")
	case empty(q.ExpiresAfter, q.ExpiresBefore):
		return invalid("filters.expiresAfter must be earlier than filters.expiresBefore")
	case never(q.HasExpiration) && (!q.ExpiresAfter.IsZero() || !q.ExpiresBefore.IsZero()):
		return invalid("filters.hasExpiration must not be false beside filters.expiresAfter or filters.expiresBefore")
	case never(q.HasBeenUsed) && !q.LastUsedAfter.IsZero():
		return invalid("filters.hasBeenUsed must not be false beside filters.lastUsedAfter")
	default:
		return nil
	}
}

// inCalendar tells whether a time can be written in RFC 3339.
func inCalendar(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// empty tells whether no time lies between two bounds.
func empty(after, before time.Time) bool {
	return !after.IsZero() && !before.IsZero() && !after.Before(before)
}

// addTexts adds the parts of texts, and checks every text that has no rule of
// its own.
func addTexts(q *Query, f Filters) error {
	q.NameContains, q.DescriptionContains = f.NameContains, f.DescriptionContains
	for _, filter := range []struct {
		member, text string
		longest      int
	}{
		{"username", q.Username, maxFilter},
		{"subscription", q.Subscription, maxFilter},
		{"nameContains", q.NameContains, maxKeyName},
		{"descriptionContains", q.DescriptionContains, maxDescription},
	} {
		switch {
		case !storable(filter.text):
			return invalid("invalid filters." + filter.member + ": must be valid UTF-8 text without the character NUL")
		case utf8.RuneCountInString(filter.text) > filter.longest:
			return invalid("invalid filters." + filter.member + ": cannot exceed " + strconv.Itoa(filter.longest) + " characters")
		}
	}
	return nil
}

// maxFilter bounds filters by names, in characters.
const maxFilter = 512
