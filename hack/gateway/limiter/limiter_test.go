// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	space   = "shop/route"
	applies = `descriptors[0]["limit.a"] == "1"`
	user    = `descriptors[0]["who"]`
)

// made is a limiter with a clock that a test moves.
type made struct {
	*Limiter
	time time.Time
}

func limiterWith(t *testing.T, specs ...Spec) *made {
	t.Helper()
	m := &made{time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	m.Limiter = New(func() time.Time { return m.time })
	m.set(t, specs...)
	return m
}

func (m *made) set(t *testing.T, specs ...Spec) {
	t.Helper()
	if _, err := m.Configure(specs); err != nil {
		t.Fatal(err)
	}
}

func spec(largest uint64, seconds int, variables ...string) Spec {
	return Spec{Namespace: space, Name: "a", MaxValue: largest, Seconds: seconds, Conditions: []string{applies}, Variables: variables}
}

func of(who string) []map[string]string {
	return []map[string]string{{"limit.a": "1", "who": who}}
}

func (m *made) over(t *testing.T, descriptors []map[string]string) bool {
	t.Helper()
	over, _, err := m.Check(space, descriptors)
	if err != nil {
		t.Fatal(err)
	}
	return over
}

func (m *made) use(t *testing.T, descriptors []map[string]string, hits uint64) {
	t.Helper()
	if _, err := m.Report(space, descriptors, hits); err != nil {
		t.Fatal(err)
	}
}

func (m *made) values() string {
	var out []string
	for _, c := range m.Counters() {
		out = append(out, fmt.Sprintf("%d/%d:%s=%d", c.Max, c.Seconds, c.Variables[user], c.Value))
	}
	return strings.Join(out, " ")
}

func TestRequestThatCrossesALimitIsServed(t *testing.T) {
	t.Parallel()
	m := limiterWith(t, spec(10, 60))
	for range 3 { // A check uses nothing.
		if m.over(t, of("u")) {
			t.Fatal("an unused limit is exhausted")
		}
	}
	m.use(t, of("u"), 9)
	if m.over(t, of("u")) {
		t.Error("9 of 10 are exhausted")
	}
	m.use(t, of("u"), 500)
	if got, want := m.values(), "10/60:=509"; got != want {
		t.Errorf("counters %s, want %s", got, want)
	}
	if !m.over(t, of("u")) {
		t.Error("509 of 10 are not exhausted")
	}
}

func TestExactlyTheLargestValueIsExhausted(t *testing.T) {
	t.Parallel()
	m := limiterWith(t, spec(10, 60))
	m.use(t, of("u"), 10)
	if !m.over(t, of("u")) {
		t.Error("10 of 10 are not exhausted")
	}
	if !limiterWith(t, spec(0, 60)).over(t, of("u")) {
		t.Error("0 of 0 are not exhausted")
	}
}

func TestNoHitsCountAsOne(t *testing.T) {
	t.Parallel()
	m := limiterWith(t, spec(10, 60))
	m.use(t, of("u"), 0)
	if got, want := m.values(), "10/60:=1"; got != want {
		t.Errorf("counters %s, want %s", got, want)
	}
}

func TestWhoSharesACounter(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		variables []string
		want      string
	}{
		"without variables everybody":       {want: "10/60:=12"},
		"with a variable each of its value": {variables: []string{user}, want: "10/60:u=5 10/60:v=7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := limiterWith(t, spec(10, 60, tc.variables...))
			m.use(t, of("u"), 5)
			m.use(t, of("v"), 7)
			if got := m.values(); got != tc.want {
				t.Errorf("counters %s, want %s", got, tc.want)
			}
		})
	}
}

func TestWhenALimitApplies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change      func(*Spec)
		descriptors []map[string]string
		want        string // The counters after a report of 3; empty: it does not apply.
		wantError   string
	}{
		"its condition holds":           {descriptors: of("u"), want: "10/60:u=3"},
		"its condition does not":        {descriptors: []map[string]string{{"limit.a": "2", "who": "u"}}},
		"its key is missing":            {descriptors: []map[string]string{{"who": "u"}}},
		"its variable is missing":       {descriptors: []map[string]string{{"limit.a": "1"}}},
		"one of two conditions holds":   {change: func(s *Spec) { s.Conditions = append(s.Conditions, `descriptors[0].who == "w"`) }, descriptors: of("u")},
		"no condition":                  {change: func(s *Spec) { s.Conditions = nil }, descriptors: of("u"), want: "10/60:u=3"},
		"its own name":                  {change: func(s *Spec) { s.Conditions = []string{`limit.name == "a"`} }, descriptors: of("u"), want: "10/60:u=3"},
		"there is no descriptor":        {wantError: "index out of bounds"},
		"another namespace":             {change: func(s *Spec) { s.Namespace = "shop/other" }, descriptors: of("u")},
		"the second descriptor decides": {change: func(s *Spec) { s.Conditions = []string{`descriptors[1].x == "1"`} }, descriptors: append(of("u"), map[string]string{"x": "1"}), want: "10/60:u=3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(10, 60, user)
			if tc.change != nil {
				tc.change(&s)
			}
			m := limiterWith(t, s)
			_, err := m.Report(space, tc.descriptors, 3)
			if (err == nil) != (tc.wantError == "") || err != nil && !strings.Contains(err.Error(), tc.wantError) {
				t.Errorf("error %v, want %q", err, tc.wantError)
			}
			if got := m.values(); got != tc.want {
				t.Errorf("counters %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWindowsAreFixed(t *testing.T) {
	t.Parallel()
	m := limiterWith(t, spec(10, 60), spec(100, 3600))
	m.use(t, of("u"), 10)
	m.time = m.time.Add(59 * time.Second)
	m.use(t, of("u"), 1) // It does not prolong the window.
	if !m.over(t, of("u")) {
		t.Error("the window ends early")
	}
	m.time = m.time.Add(time.Second)
	if m.over(t, of("u")) {
		t.Error("the window does not end after its seconds")
	}
	if got, want := m.values(), "100/3600:=11"; got != want {
		t.Errorf("counters %s, want %s: each limit has its own window", got, want)
	}
	m.use(t, of("u"), 89)
	if got, want := m.values(), "10/60:=89 100/3600:=100"; got != want {
		t.Errorf("counters %s, want %s", got, want)
	}
	m.time = m.time.Add(time.Minute)
	if !m.over(t, of("u")) {
		t.Error("the longer window does not hold any more")
	}
}

func TestChangedLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"a larger value keeps the counter":       {func(s *Spec) { s.MaxValue = 20 }, "20/60:u=5"},
		"a smaller value keeps the counter":      {func(s *Spec) { s.MaxValue = 1 }, "1/60:u=5"},
		"another name keeps the counter":         {func(s *Spec) { s.Name = "b" }, "10/60:u=5"},
		"conditions twice keep the counter":      {func(s *Spec) { s.Conditions = append(s.Conditions, applies) }, "10/60:u=5"},
		"another window begins anew":             {func(s *Spec) { s.Seconds = 61 }, ""},
		"other variables begin anew":             {func(s *Spec) { s.Variables = nil }, ""},
		"other conditions begin anew":            {func(s *Spec) { s.Conditions = nil }, ""},
		"another namespace begins anew":          {func(s *Spec) { s.Namespace = "shop/other" }, ""},
		"no change at all, the counter is there": {func(*Spec) {}, "10/60:u=5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(10, 60, user)
			m := limiterWith(t, s)
			m.use(t, of("u"), 5)
			tc.change(&s)
			m.set(t, s)
			if got := m.values(); got != tc.want {
				t.Errorf("counters %q, want %q", got, tc.want)
			}
			m.set(t)
			m.set(t, s)
			if got := m.values(); got != "" {
				t.Errorf("counters %q of a limit that was gone meanwhile", got)
			}
		})
	}
}

func TestOfEqualLimitsTheFirstCounts(t *testing.T) {
	t.Parallel()
	m := limiterWith(t)
	notes, err := m.Configure([]Spec{spec(100, 60), spec(5, 60)})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "hides") {
		t.Errorf("notes %q (%v)", notes, err)
	}
	m.use(t, of("u"), 50)
	if m.over(t, of("u")) {
		t.Error("the limit that is hidden counts")
	}
	if m.Limits() != 1 {
		t.Errorf("%d limits", m.Limits())
	}
}

func TestLimitsThatCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Spec)
		want   string
	}{
		"no namespace":            {func(s *Spec) { s.Namespace = "" }, "cannot be counted"},
		"no window":               {func(s *Spec) { s.Seconds = 0 }, "cannot be counted"},
		"no CEL":                  {func(s *Spec) { s.Conditions = []string{"a == 5 =="} }, "Syntax error"},
		"something unknown":       {func(s *Spec) { s.Conditions = []string{`auth.name == "u"`} }, "undeclared reference"},
		"a condition of a number": {func(s *Spec) { s.Conditions = []string{"5"} }, "not bool"},
		"a variable that is none": {func(s *Spec) { s.Variables = []string{"descriptors["} }, "variable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := spec(10, 60)
			m := limiterWith(t, good)
			m.use(t, of("u"), 5)
			bad := spec(10, 60)
			tc.change(&bad)
			if _, err := m.Configure([]Spec{bad}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
			if got := m.values(); got != "10/60:=5" {
				t.Errorf("counters %q: an error must change nothing", got)
			}
		})
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	specs, err := ParseSpecs([]byte(`[{"namespace":"n","name":"a","max_value":5,"seconds":60,"conditions":["true"],"variables":["'x'"]}]`))
	if err != nil || len(specs) != 1 || specs[0].MaxValue != 5 || specs[0].Seconds != 60 || specs[0].Namespace != "n" {
		t.Errorf("%+v (%v)", specs, err)
	}
	if _, err := ParseSpecs([]byte(`[{"namespace":"n","burst":5}]`)); err == nil {
		t.Error("a field that is not known is accepted")
	}
}

func TestLimiterThatIsDown(t *testing.T) {
	t.Parallel()
	m := limiterWith(t, spec(10, 60))
	m.use(t, of("u"), 5)
	m.SetDown(true)
	if _, _, err := m.Check(space, of("u")); err == nil {
		t.Error("a check succeeds")
	}
	if _, err := m.Report(space, of("u"), 1); err == nil {
		t.Error("a report succeeds")
	}
	m.SetDown(false)
	if got := m.values(); got != "10/60:=5" || m.over(t, of("u")) {
		t.Errorf("counters %q after it is up again", got)
	}
	m.Reset()
	if got := m.values(); got != "" {
		t.Errorf("counters %q after a reset", got)
	}
}
