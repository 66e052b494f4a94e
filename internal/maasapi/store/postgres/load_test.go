// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
)

// A reader asks for one key more than it can hold, to learn that there are more.
func TestAsManyKeysAsAreAskedForAreLoadedInOrder(t *testing.T) {
	t.Parallel()
	s := open(t, migrated(t, routes[0].database(t)))
	const keys = 4
	for i := range keys {
		insert(t, s, makeKey(fmt.Sprint(i), func(k *apikey.NewKey) { k.CreatedAt = now().Add(time.Duration(i-keys) * time.Hour) }))
	}
	var got []string
	_, err := s.Load(t.Context(), keys, func(_ apikey.Digest, r apikey.Record) error {
		got = append(got, r.ID)
		return nil
	})
	if want := []string{"3", "2", "1", "0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("loaded %v, %v, want %v", got, err, want)
	}
}
