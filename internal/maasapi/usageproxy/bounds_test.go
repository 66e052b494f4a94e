// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"testing"
	"testing/iotest"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	c := newCache(clock)
	of := func(size int) body { return bodyOf(make([]byte, size)) }
	for i := range 300 {
		c.add(keyOf(strconv.Itoa(i)), of(1))
	}
	if c.order.Len() != cacheEntries || len(c.entries) != cacheEntries || c.bytes != cacheEntries {
		t.Errorf("%d entries, %d keys, %d bytes", c.order.Len(), len(c.entries), c.bytes)
	}
	for i := range 300 {
		c.add(keyOf("large", strconv.Itoa(i)), of(cacheEntry))
		if c.bytes > cacheBytes {
			t.Fatalf("%d bytes", c.bytes)
		}
	}
	if _, known := c.get(keyOf("large", "299")); !known {
		t.Error("the last one is not kept")
	}
	if _, known := c.get(keyOf("large", "0")); known {
		t.Error("the first one is kept")
	}
	c.add(keyOf("too large"), of(cacheEntry+1))
	if _, known := c.get(keyOf("too large")); known {
		t.Error("one that is too large is kept")
	}
	c.add(keyOf("large", "299"), of(1))
	clock.SetTime(clock.Now().Add(cacheFor))
	if _, known := c.get(keyOf("large", "299")); known {
		t.Error("one that is over is given")
	}
	c.add(keyOf("new"), of(2))
	if c.order.Len() != 1 || len(c.entries) != 1 || c.bytes != 2 {
		t.Errorf("%d entries, %d keys, %d bytes", c.order.Len(), len(c.entries), c.bytes)
	}
}

func TestKeysDifferWhereTextsDo(t *testing.T) {
	t.Parallel()
	if keyOf("ab", "c") == keyOf("a", "bc") || keyOf("a") == keyOf("a", "") {
		t.Error("two questions have one key")
	}
}

func TestBodiesAreReadInPieces(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		text := bytes.Repeat([]byte("ab"), size)[:size]
		for _, most := range []int{size, size + 1, size + chunk} {
			b, err := readBody(iotest.HalfReader(bytes.NewReader(text)), most)
			if err != nil {
				t.Fatalf("%d of %d: %v", size, most, err)
			}
			var out bytes.Buffer
			if _, err := b.WriteTo(&out); err != nil || b.size != size || !bytes.Equal(out.Bytes(), text) {
				t.Errorf("%d of %d: read %d bytes, error %v", size, most, b.size, err)
			}
		}
		if size > 0 {
			if _, err := readBody(bytes.NewReader(text), size-1); !errors.Is(err, errTooLarge) {
				t.Errorf("%d of %d: error %v", size, size-1, err)
			}
		}
		if _, err := readBody(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(text))), size); size > 1 && err == nil {
			t.Errorf("%d: an answer in part is taken for a whole one", size)
		}
	}
}

func TestMemoryIsGivenBack(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	for range 2 * memory / maxBody {
		turn, err := turns.enter(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		if err := turn.reserve(t.Context(), maxBody); err != nil {
			t.Fatal(err)
		}
		turn.keep(5)
		turn.end()
	}
	if len(turns.users) != 0 || !turns.memory.TryAcquire(memory) {
		t.Error("something is held")
	}
}

// Of one user's requests some are worked on and some wait, and the rest are refused at
// once. Nobody else is affected.
func TestTurnsOfOneUser(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	turns.patience = time.Hour
	var working []*turn
	for range perUser {
		turn, err := turns.enter(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		working = append(working, turn)
	}
	present := func() int {
		turns.mu.Lock()
		defer turns.mu.Unlock()
		return turns.users["ann"].present
	}
	waited := make(chan error, waiting)
	for range waiting {
		go func() {
			turn, err := turns.enter(t.Context(), "ann")
			if err == nil {
				turn.end()
			}
			waited <- err
		}()
	}
	for present() < perUser+waiting {
		runtime.Gosched()
	}
	if _, err := turns.enter(t.Context(), "ann"); !errors.Is(err, errTooMany) {
		t.Errorf("one more has error %v", err)
	}
	other, err := turns.enter(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	other.end()
	for _, turn := range working {
		turn.end()
	}
	for range waiting {
		if err := <-waited; err != nil {
			t.Errorf("one that waited has error %v", err)
		}
	}
}

func TestWhoWaitsTooLongIsSentAway(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	turns.patience = time.Millisecond
	for range perUser {
		turn, err := turns.enter(t.Context(), "ann")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(turn.end)
	}
	if _, err := turns.enter(t.Context(), "ann"); !errors.Is(err, errBusy) {
		t.Errorf("error %v", err)
	}
	held, err := turns.enter(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	defer held.end()
	if err := held.reserve(t.Context(), memory); err != nil {
		t.Fatal(err)
	}
	if err := held.reserve(t.Context(), 1); !errors.Is(err, errBusy) {
		t.Errorf("error %v", err)
	}
}

func TestMomentsAreReadAsTheLogStoreDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1700000000": 1700000000e9, "1700000000000000000": 1700000000e9, "1700000000.5": 1700000000500e6, "2023-11-14T22:13:20Z": 1700000000e9, "0": 0,
	} {
		got, err := moment(text)
		if err != nil || got.UnixNano() != want {
			t.Errorf("%s gives %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", "now", "1h", "Inf", "NaN", "1e300", "2023-11-14"} {
		if got, err := moment(text); err == nil {
			t.Errorf("%q gives %v", text, got)
		}
	}
}
