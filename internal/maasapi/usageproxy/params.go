// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/usageproxy/logql"
)

// Paths of the log store that users may ask for. Everything else does not exist for
// them.
const (
	pathQuery      = "/loki/api/v1/query"
	pathQueryRange = "/loki/api/v1/query_range"
	pathLabels     = "/loki/api/v1/labels"
	pathLabel      = "/loki/api/v1/label/"
	pathValues     = "/values"
)

const (
	// defaultSince is how far back the log store looks when nothing else is said.
	defaultSince = 6 * time.Hour
	// maxSpan is the longest time that values of a label are looked for in: the log store
	// itself takes no longer one, unless it is told to.
	maxSpan = 30 * 24 * time.Hour
	// maxParameter is the longest parameter but for query, in bytes.
	maxParameter = 64
)

var (
	errParameters = errors.New("the parameters are not understood: give each of query, limit, time, start, end, since, step, interval and direction once at most, where the path has it")
	errNoQuery    = errors.New("the parameter query is missing: say what to look for")
	errTimes      = errors.New("the parameters start, end and since are not understood: give times as RFC 3339 or as a Unix time, since as a duration like 6h, and an end behind the start, 30 days at most")
)

// endpoint is a path of the log store that users may ask for.
type endpoint int

const (
	endpointNone endpoint = iota
	endpointQuery
	endpointQueryRange
	endpointLabels
	endpointValues
)

// label is a name that LogQL knows.
var label = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]{0,127}$`)

// find returns what a path stands for, and the label whose values are asked for. The
// path is the escaped one: no path of the log store has an escape in it.
func find(path string) (endpoint, string) {
	switch path {
	case pathQuery:
		return endpointQuery, ""
	case pathQueryRange:
		return endpointQueryRange, ""
	case pathLabels:
		return endpointLabels, ""
	}
	name, isLabel := strings.CutPrefix(path, pathLabel)
	name, isValues := strings.CutSuffix(name, pathValues)
	if isLabel && isValues && label.MatchString(name) {
		return endpointValues, name
	}
	return endpointNone, ""
}

// parameters are those that an endpoint of the log store takes.
func (e endpoint) parameters() []string {
	switch e {
	case endpointQuery:
		return []string{"query", "limit", "time", "direction"}
	case endpointQueryRange:
		return []string{"query", "limit", "start", "end", "since", "step", "interval", "direction"}
	case endpointLabels, endpointValues:
		return []string{"query", "start", "end", "since"}
	default:
		return nil
	}
}

// plain are the characters of times, durations, numbers and directions.
var plain = regexp.MustCompile(`^[0-9A-Za-z.:+-]{1,64}$`)

// parse reads the parameters of a request. One that is given twice is refused, as is
// one that is not known: of two readers each may see another one.
func (e endpoint) parse(raw string) (url.Values, error) {
	parameters, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errParameters
	}
	for name, given := range parameters {
		if len(given) != 1 || !slices.Contains(e.parameters(), name) {
			return nil, errParameters
		}
		if name == "query" {
			continue
		}
		if len(given[0]) > maxParameter || !plain.MatchString(given[0]) {
			return nil, errParameters
		}
	}
	return parameters, nil
}

// question is what the log store is asked.
type question struct {
	path       string
	parameters url.Values
	// values is the name of the label whose values are wanted of the answer; empty for
	// the answer itself.
	values string
	// known is the answer where the log store need not be asked.
	known []byte
}

// ask makes what the log store is asked of what a user asked, restricted.
func (e endpoint) ask(parameters url.Values, name string, r logql.Restriction, now time.Time) (question, error) {
	query := parameters.Get("query")
	switch e {
	case endpointLabels:
		return names(r, query)
	case endpointValues:
		return valuesOf(r, name, parameters, now)
	default:
		if strings.TrimSpace(query) == "" {
			return question{}, errNoQuery
		}
		narrowed, err := r.Rewrite(query)
		path := pathQuery
		if e == endpointQueryRange {
			path = pathQueryRange
		}
		return question{path: path, parameters: with(parameters, "query", narrowed)}, err
	}
}

func with(parameters url.Values, name, value string) url.Values {
	out := maps.Clone(parameters)
	out.Set(name, value)
	return out
}

// names are those that records have something to say of. The log store is not asked:
// its list takes a selector but no filter, and whether it is empty would tell which
// subscriptions and models others use, and when.
func names(r logql.Restriction, query string) (question, error) {
	if _, err := r.Selector(query); err != nil {
		return question{}, err
	}
	known, err := json.Marshal(map[string]any{"status": "success", "data": Labels()})
	if err != nil {
		return question{}, errors.New("the names of labels cannot be written")
	}
	return question{known: known}, nil
}

// Labels are the names by which records are told apart, sorted.
func Labels() []string {
	return []string{
		"groups", "key_id", "key_name", "kubernetes_namespace_name", "model", "organization_id", "response_code", "response_model", "response_type",
		"service_name", "subscription", "user_id",
	}
}

// valuesOf asks for the values of a label among the user's own records: the log
// store's own list of values takes a selector but no filter, and would show which
// subscriptions and models others use.
func valuesOf(r logql.Restriction, name string, parameters url.Values, now time.Time) (question, error) {
	selector, err := r.Selector(parameters.Get("query"))
	if err != nil {
		return question{}, err
	}
	end, span, err := period(parameters, now)
	if err != nil {
		return question{}, err
	}
	seconds := strconv.FormatInt(int64(math.Ceil(span.Seconds())), 10)
	// The log store groups early for a sum. For a count it keeps a series for each
	// record, whose numbers of tokens differ, until the end.
	query := "sum by (" + name + ") (count_over_time(" + selector + r.Filter() + " [" + seconds + "s]))"
	return question{path: pathQuery, values: name, parameters: url.Values{
		"query": {query}, "time": {strconv.FormatInt(end.UnixNano(), 10)},
	}}, nil
}

// period is the time that the parameters are about.
func period(parameters url.Values, now time.Time) (end time.Time, span time.Duration, err error) {
	end, span = now, defaultSince
	if text := parameters.Get("end"); text != "" {
		if end, err = moment(text); err != nil {
			return end, 0, err
		}
	}
	if text := parameters.Get("since"); text != "" {
		if span, err = time.ParseDuration(text); err != nil {
			return end, 0, errTimes
		}
	}
	if text := parameters.Get("start"); text != "" {
		start, err := moment(text)
		if err != nil {
			return end, 0, err
		}
		span = end.Sub(start)
	}
	if span <= 0 || span > maxSpan {
		return end, 0, errTimes
	}
	return end, span, nil
}

// moment reads a time as the log store does: as RFC 3339, as seconds with a fraction,
// or as a whole number of seconds up to ten digits, else of nanoseconds.
func moment(text string) (time.Time, error) {
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(text) <= len("1700000000") {
			return time.Unix(whole, 0), nil
		}
		return time.Unix(0, whole), nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || math.Abs(seconds) > math.MaxInt32*4 {
			return time.Time{}, errTimes
		}
		whole, fraction := math.Modf(seconds)
		return time.Unix(int64(whole), int64(fraction*float64(time.Second))), nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return at, nil
	}
	return time.Time{}, errTimes
}
