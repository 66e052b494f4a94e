// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package usageproxy

import (
	"bytes"
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
		if answer, err = valuesIn(answer, q.values); err != nil {
			return body{}, p.broken("it has another form than expected", err)
		}
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
		return refuse(status, "bad_data", "The log store refuses the query")
	}
	var text bytes.Buffer
	_, _ = answer.WriteTo(&text) // It never fails.
	if trimmed := bytes.TrimSpace(text.Bytes()); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return &failure{status: status, kind: "bad_data", body: bodyOf(trimmed)}
	}
	return refuse(status, "bad_data", readable(text.String()))
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
	if text = strings.TrimSpace(text); text == "" {
		return "The log store refuses the query"
	}
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
