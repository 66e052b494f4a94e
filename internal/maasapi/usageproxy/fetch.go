// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode"
)

const (
	// maxErrorBody is the largest error of the log store that is passed on, and
	// maxErrorText the longest text of one, in bytes.
	maxErrorBody = 64 << 10
	maxErrorText = 1 << 10
	// maxValues is the largest answer that values of a label are taken from.
	maxValues = 1 << 20
)

// fetch asks the log store and returns its answer.
func (p *Proxy) fetch(ctx context.Context, q question) (body, *failure) {
	ctx, cancel := context.WithTimeout(ctx, upstreamTimeout)
	defer cancel()
	response, err := p.upstream.do(ctx, q)
	if err != nil {
		return body{}, p.unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }() // It was only read.
	if response.StatusCode != http.StatusOK {
		return body{}, p.refused(response)
	}
	if !isJSON(response.Header) {
		return body{}, p.broken("it is not JSON", nil)
	}
	most := maxBody
	if q.values != "" {
		most = maxValues // It is taken apart, which takes several times as much memory.
	}
	answer, err := readBody(response.Body, most)
	switch {
	case errors.Is(err, errTooLarge):
		return body{}, refuse(http.StatusBadGateway, "too_large", "The answer is too large: ask for a shorter time or for fewer records")
	case err != nil:
		return body{}, p.unreachable(ctx, err)
	}
	if q.values != "" {
		answer, err = valuesIn(answer, q.values)
	} else {
		answer, err = resultIn(answer)
	}
	if err != nil {
		return body{}, p.broken("it has another form than expected", err)
	}
	return answer, nil
}

func isJSON(header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

func (p *Proxy) unreachable(ctx context.Context, err error) *failure {
	p.log.Warn("Cannot ask the log store", slog.Any("error", err))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return refuse(http.StatusGatewayTimeout, "timeout", "The log store did not answer within 60 seconds: ask for a shorter time")
	}
	return refuse(http.StatusBadGateway, "unavailable", "The log store cannot be reached")
}

func (p *Proxy) broken(why string, err error) *failure {
	p.log.Warn("Cannot use the answer of the log store", slog.String("reason", why), slog.Any("error", err))
	return refuse(http.StatusBadGateway, "bad_response", "The answer of the log store cannot be used")
}

// refused makes an answer of one that is an error. What is about the process's own
// rights, or about a path that is not there, is no fault of the user's.
func (p *Proxy) refused(response *http.Response) *failure {
	status := response.StatusCode
	switch status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusTooManyRequests:
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		p.log.Warn("The log store answers with an error", slog.Int("status", status))
		return refuse(status, "unavailable", "The log store is not available; try again in a moment")
	default:
		p.log.Warn("The log store answers with an error", slog.Int("status", status))
		return refuse(http.StatusBadGateway, "bad_response", "The log store answered with an error")
	}
	answer, err := readBody(response.Body, maxErrorBody)
	if err != nil {
		return refuse(status, "bad_data", refusal)
	}
	return refuse(status, "bad_data", reason(answer))
}

// refusal is what users are told where the log store's own words are none of their
// business.
const refusal = "The log store refuses the query: it may be wrong, or ask for more than the log store reads at once; ask for a shorter time or for fewer records"

// reasons are the beginnings of what users are told in the log store's own words. They
// are about the query, or about the user's own records. Others tell how much the log
// store would have to read, which counts the records of everybody.
func reasons() []string {
	return []string{"parse error", "max entries limit", "the query time range exceeds the limit", "maximum of series", "maximum number of series"}
}

// reason says why the log store refuses a query.
func reason(answer body) string {
	var text strings.Builder
	_, _ = answer.WriteTo(&text) // It never fails.
	said := text.String()
	var structured struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(said), &structured) == nil {
		said = cmp.Or(structured.Error, structured.Message)
	}
	said = readable(said)
	if slices.ContainsFunc(reasons(), func(beginning string) bool { return strings.HasPrefix(said, beginning) }) {
		return said
	}
	return refusal
}

// readable is the beginning of a text without what does not print.
func readable(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	text = strings.TrimSpace(text)
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "…"
	}
	return text
}

// vector is the part that is needed of an answer to an instant query.
type vector struct {
	Status string `json:"status"`
	Data   struct {
		Type   string `json:"resultType"`
		Result []struct {
			Metric map[string]string `json:"metric"`
		} `json:"result"`
	} `json:"data"`
}

// valuesIn are the values of a label in the answer to an instant query, in the form
// of the log store's own list.
func valuesIn(answer body, name string) (body, error) {
	var found vector
	if err := json.NewDecoder(answer.reader()).Decode(&found); err != nil {
		return body{}, errors.New("the answer cannot be read")
	}
	if found.Status != "success" || found.Data.Type != "vector" {
		return body{}, errors.New("the answer is no vector")
	}
	values := []string{}
	for _, series := range found.Data.Result {
		if value := series.Metric[name]; value != "" {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	text, err := json.Marshal(map[string]any{"status": "success", "data": slices.Compact(values)})
	if err != nil {
		return body{}, errors.New("the values cannot be written")
	}
	return bodyOf(text), nil
}
