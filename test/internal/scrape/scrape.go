// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scrape reads the metrics page of a program under test, as far as adding
// up its series goes.
package scrape

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Samples are the values of a metrics page by series.
type Samples map[string]float64

// Get reads a metrics page.
func Get(ctx context.Context, url string) (Samples, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read metrics: %s answers %s", url, response.Status)
	}
	return Parse(response.Body)
}

// Parse reads the text format as far as "series value" lines go.
func Parse(r io.Reader) (Samples, error) {
	out := Samples{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := lines.Text()
		at := strings.LastIndexByte(line, ' ')
		if strings.HasPrefix(line, "#") || at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			return nil, fmt.Errorf("read metric %q: %w", line, err)
		}
		out[line[:at]] = value
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	return out, nil
}

// Sum adds up all series of a metric that hold all given texts.
func (s Samples) Sum(metric string, parts ...string) float64 {
	total := 0.0
series:
	for name, value := range s {
		if name != metric && !strings.HasPrefix(name, metric+"{") {
			continue
		}
		for _, part := range parts {
			if !strings.Contains(name, part) {
				continue series
			}
		}
		total += value
	}
	return total
}
