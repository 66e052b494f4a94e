// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

const (
	kindText     = "text"
	kindBool     = "boolean"
	kindInt      = "integer"
	kindDuration = "duration"
	kindNumber   = "number"
	kindList     = "list"
)

type parser = func(c *Config, text string) error

// text takes any value, trimmed.
func text(field func(*Config) *string) parser {
	return func(c *Config, value string) error {
		*field(c) = strings.TrimSpace(value)
		return nil
	}
}

// nonBlank takes any value that is not blank, trimmed.
func nonBlank(field func(*Config) *string) parser {
	return func(c *Config, value string) error {
		if value = strings.TrimSpace(value); value == "" {
			return errors.New("is blank: give a value, or leave it out for the default")
		}
		*field(c) = value
		return nil
	}
}

func boolean(field func(*Config) *bool) parser {
	return func(c *Config, value string) error {
		parsed, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return errors.New("is no boolean: use true or false")
		}
		*field(c) = parsed
		return nil
	}
}

func integer(field func(*Config) *int, least, most int) parser {
	return func(c *Config, value string) error {
		parsed, err := whole(value, least, most)
		if err != nil {
			return err
		}
		*field(c) = parsed
		return nil
	}
}

// seconds takes a whole number of seconds.
func seconds(field func(*Config) *time.Duration, least, most int) parser {
	return func(c *Config, value string) error {
		parsed, err := whole(value, least, most)
		if err != nil {
			return err
		}
		*field(c) = time.Duration(parsed) * time.Second
		return nil
	}
}

func whole(value string, least, most int) (int, error) {
	parsed, err := strconv.Atoi(strings.TrimSpace(value))
	if err != nil || parsed < least || parsed > most {
		return 0, fmt.Errorf("is no whole number from %d to %d", least, most)
	}
	return parsed, nil
}

// duration takes Go's form of durations, for example 1.5s or 2m.
func duration(field func(*Config) *time.Duration, least, most time.Duration) parser {
	return func(c *Config, value string) error {
		parsed, err := time.ParseDuration(strings.TrimSpace(value))
		if err != nil || parsed < least || parsed > most {
			return fmt.Errorf("is no duration from %s to %s: write it like 500ms, 30s or 2m", least, most)
		}
		*field(c) = parsed
		return nil
	}
}

func ratio(field func(*Config) *float64) parser {
	return func(c *Config, value string) error {
		parsed, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || math.IsNaN(parsed) || parsed < 0 || parsed > 1 {
			return errors.New("is no number from 0 to 1")
		}
		*field(c) = parsed
		return nil
	}
}

func choice[T ~string](field func(*Config) *T, allowed ...T) parser {
	return func(c *Config, value string) error {
		value = strings.TrimSpace(value)
		names := make([]string, 0, len(allowed))
		for _, one := range allowed {
			if value == string(one) {
				*field(c) = one
				return nil
			}
			names = append(names, string(one))
		}
		return errors.New("is none of " + strings.Join(names, ", "))
	}
}

func words(field func(*Config) *[]string) parser {
	return func(c *Config, value string) error {
		*field(c) = splitList(value)
		return nil
	}
}

func networks(field func(*Config) *[]netip.Prefix) parser {
	return func(c *Config, value string) error {
		var parsed []netip.Prefix
		for _, item := range splitList(value) {
			prefix, err := netip.ParsePrefix(item)
			if err != nil {
				address, err := netip.ParseAddr(item)
				if err != nil {
					return errors.New("has an item that is neither an address nor a network like 10.0.0.0/8")
				}
				prefix = netip.PrefixFrom(address, address.BitLen())
			}
			parsed = append(parsed, prefix.Masked())
		}
		*field(c) = parsed
		return nil
	}
}

func tlsVersion(c *Config, value string) error {
	switch strings.TrimSpace(value) {
	case "1.2":
		c.MinVersion = tls.VersionTLS12
	case "1.3":
		c.MinVersion = tls.VersionTLS13
	default:
		return errors.New("is none of 1.2, 1.3")
	}
	return nil
}

func splitList(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
