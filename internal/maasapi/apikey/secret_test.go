// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

func generated(t *testing.T, seed byte) apikey.Secret {
	t.Helper()
	secret, err := apikey.Generate(apikeytest.Random(seed))
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return secret
}

func TestGeneratedKeyHasTheFormatOfEarlierReleases(t *testing.T) {
	t.Parallel()
	// E-1.
	secret := generated(t, 1)
	if format := regexp.MustCompile(`^sk-oai-[0-9A-Za-z]{12,17}_[0-9A-Za-z]{40,43}$`); !format.MatchString(secret.Plaintext()) {
		t.Errorf("the key is %q", secret.Plaintext())
	}
	if want := secret.Plaintext()[:len(apikey.Prefix)+12] + "..."; secret.DisplayPrefix() != want {
		t.Errorf("the display prefix is %q, want %q", secret.DisplayPrefix(), want)
	}
}

// base62 writes a number independently of the package: big.Int has the same
// alphabet, but for the order of capitals and small letters.
func base62(number []byte) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLower(r) {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, new(big.Int).SetBytes(number).Text(62))
}

func TestGeneratedKeyIsWrittenInBase62(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SliceOfN(rapid.Byte(), 44, 44).Draw(t, "source")
		for i := range rapid.IntRange(0, 12).Draw(t, "zeros") {
			source[i] = 0
		}
		secret, err := apikey.Generate(bytes.NewReader(source))
		if want := "sk-oai-" + base62(source[:12]) + "_" + base62(source[12:]); err != nil || secret.Plaintext() != want {
			t.Fatalf("the key is %q, %v; want %q", secret.Plaintext(), err, want)
		}
	})
}

func TestGeneratedKeysDiffer(t *testing.T) {
	t.Parallel()
	// E-2.
	random := apikeytest.Random(1)
	texts, ids, digests := map[string]bool{}, map[string]bool{}, map[apikey.Digest]bool{}
	for range 100 {
		secret, err := apikey.Generate(random)
		if err != nil {
			t.Fatalf("Generate: %v", err)
		}
		id, _, _ := strings.Cut(secret.Plaintext(), "_")
		texts[secret.Plaintext()], ids[id], digests[secret.Digest()] = true, true, true
	}
	if len(texts) != 100 || len(ids) != 100 || len(digests) != 100 {
		t.Errorf("100 keys have %d texts, %d ids and %d digests", len(texts), len(ids), len(digests))
	}
}

func TestGenerateNeedsRandomness(t *testing.T) {
	t.Parallel()
	if secret, err := apikey.Generate(strings.NewReader("too little")); err == nil || secret.Plaintext() != "" {
		t.Errorf("Generate = %q, %v; want an error", secret.Plaintext(), err)
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	t.Parallel()
	secret := generated(t, 1)
	id, hidden, _ := strings.Cut(strings.TrimPrefix(secret.Plaintext(), apikey.Prefix), "_")
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("Creating key", "secret", secret, "whole", apikey.Created{Secret: secret})
	slog.New(slog.NewTextHandler(&log, nil)).Info("Creating key", "secret", secret, "whole", apikey.Created{Secret: secret})
	encoded, err := json.Marshal(apikey.Created{Secret: secret})
	if err != nil {
		t.Fatalf("Marshal: %v", err)
	}
	printed := map[string]string{"log": log.String(), "JSON": string(encoded)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%T"} {
		printed[verb] = fmt.Sprintf(verb, secret)
		printed[verb+" of a pointer"] = fmt.Sprintf(verb, &secret)
		printed[verb+" of a struct"] = fmt.Sprintf(verb, apikey.Created{Secret: secret})
		printed[verb+" of a hidden member"] = fmt.Sprintf(verb, struct{ hidden apikey.Secret }{secret})
	}
	for how, text := range printed {
		text = strings.ToLower(text)
		for _, part := range []string{hidden, fmt.Sprintf("%x", hidden), id, fmt.Sprintf("%x", id)} {
			if strings.Contains(text, strings.ToLower(part)) {
				t.Errorf("%s shows the key: %s", how, text)
			}
		}
	}
}

func TestSecretIsPrintedByItsDisplayPrefix(t *testing.T) {
	t.Parallel()
	secret := generated(t, 1)
	if got := fmt.Sprintf("%v %s %#v", secret, secret, secret); got != strings.Join([]string{secret.DisplayPrefix(), secret.DisplayPrefix(), secret.DisplayPrefix()}, " ") {
		t.Errorf("it is printed as %q", got)
	}
}

func TestZeroSecretIsNoKey(t *testing.T) {
	t.Parallel()
	var secret apikey.Secret
	if secret.Plaintext() != "" || secret.DisplayPrefix() != "" || secret.Digest() != (apikey.Digest{}) {
		t.Errorf("the zero secret is %q, %q, %v", secret.Plaintext(), secret.DisplayPrefix(), secret.Digest())
	}
}
