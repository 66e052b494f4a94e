// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey"
	"github.com/opendatahub-io/maas-operator/internal/maasapi/apikey/apikeytest"
)

// The digest of a key that an earlier release made (E-3).
const (
	vectorKey    = "sk-oai-testKeyID123_testSecretValue456"
	vectorDigest = "808d67492d1cb86b9e6f9c07a5db95803242782483b50f0dcab17f1f74a8a469"
)

func TestParseKnowsKeysOfEarlierReleases(t *testing.T) {
	t.Parallel()
	got, err := apikey.Parse(vectorKey)
	if err != nil || got.String() != vectorDigest {
		t.Errorf("Parse(%q) = %v, %v; want %s", vectorKey, got, err, vectorDigest)
	}
}

func TestParseTellsSplitsApart(t *testing.T) {
	t.Parallel()
	one, oneErr := apikey.Parse("sk-oai-ab_c")
	other, otherErr := apikey.Parse("sk-oai-a_bc")
	if oneErr != nil || otherErr != nil || one == other {
		t.Errorf("Parse gives %v, %v and %v, %v; want two digests", one, oneErr, other, otherErr)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	// E-4, E-5, E-8.
	tests := map[string]string{
		"nothing":                       "",
		"random text":                   "invalid-key",
		"a key of something else":       "maas_short",
		"the prefix alone":              "sk-oai-",
		"the prefix in capitals":        "SK-OAI-a_b",
		"no prefix":                     "x_y",
		"a prefix elsewhere":            " sk-oai-a_b",
		"no separator":                  "sk-oai-noSeparatorHere",
		"no id":                         "sk-oai-_x",
		"no secret":                     "sk-oai-x_",
		"a second separator":            "sk-oai-a_b_c",
		"a hyphen in the id":            "sk-oai-a-b_c",
		"a hyphen in the secret":        "sk-oai-a_b-c",
		"a NUL in the id":               "sk-oai-a\x00b_c",
		"white space at the end":        "sk-oai-a_b ",
		"a line break":                  "sk-oai-a_b\n",
		"letters of another alphabet":   "sk-oai-а_b",
		"bytes that are no UTF-8":       "sk-oai-\xff_b",
		"one byte more than is allowed": "sk-oai-a_" + strings.Repeat("b", apikey.MaxTextLength-8),
		"more than anybody would send":  "sk-oai-a_" + strings.Repeat("b", 1<<20),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := apikey.Parse(text); !errors.Is(err, apikey.ErrFormat) || got != (apikey.Digest{}) {
				t.Errorf("Parse = %v, %v; want %v", got, err, apikey.ErrFormat)
			}
		})
	}
}

func TestParseTakesTheLongestText(t *testing.T) {
	t.Parallel()
	if _, err := apikey.Parse("sk-oai-a_" + strings.Repeat("b", apikey.MaxTextLength-9)); err != nil {
		t.Errorf("Parse of %d bytes: %v", apikey.MaxTextLength, err)
	}
}

func TestParseDoesNotAllocate(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	for name, text := range map[string]string{"a key": vectorKey, "no key": "sk-oai-noSeparatorHere"} {
		got := testing.AllocsPerRun(100, func() {
			_, _ = apikey.Parse(text)
		})
		if got != 0 {
			t.Errorf("Parse of %s allocates %v times", name, got)
		}
	}
}

func TestParseDigestReadsWhatIsStored(t *testing.T) {
	t.Parallel()
	got, err := apikey.ParseDigest(vectorDigest)
	if err != nil || got.String() != vectorDigest {
		t.Errorf("ParseDigest(%s) = %v, %v", vectorDigest, got, err)
	}
}

func TestParseDigestRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"nothing":        "",
		"too short":      vectorDigest[1:],
		"too long":       vectorDigest + "0",
		"capitals":       strings.ToUpper(vectorDigest),
		"no hexadecimal": "g" + vectorDigest[1:],
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := apikey.ParseDigest(text); err == nil {
				t.Errorf("ParseDigest = %v, want an error", got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(vectorKey)
	f.Add("sk-oai-a_b_c")
	f.Add("sk-oai-\x00_\x00")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := apikey.Parse(text)
		if err != nil {
			if !errors.Is(err, apikey.ErrFormat) || got != (apikey.Digest{}) {
				t.Errorf("Parse(%q) = %v, %v", text, got, err)
			}
			return
		}
		id, secret, found := strings.Cut(strings.TrimPrefix(text, apikey.Prefix), "_")
		sum := sha256.Sum256([]byte(id + "\x00" + secret))
		if !found || id == "" || secret == "" || got.String() != hex.EncodeToString(sum[:]) {
			t.Errorf("Parse(%q) = %v", text, got)
		}
		if again, err := apikey.ParseDigest(got.String()); err != nil || again != got {
			t.Errorf("ParseDigest(%v) = %v, %v", got, again, err)
		}
	})
}

func TestGeneratedKeysCanBeParsed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SliceOfN(rapid.Byte(), 44, 44).Draw(t, "source")
		secret, err := apikey.Generate(strings.NewReader(string(source)))
		if err != nil {
			t.Fatalf("Generate: %v", err)
		}
		digest, err := apikey.Parse(secret.Plaintext())
		if err != nil || digest != secret.Digest() {
			t.Fatalf("Parse(%q) = %v, %v; want %v", secret.Plaintext(), digest, err, secret.Digest())
		}
	})
}

func BenchmarkParse(b *testing.B) {
	secret, err := apikey.Generate(apikeytest.Random(1))
	if err != nil {
		b.Fatal(err)
	}
	text := secret.Plaintext()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := apikey.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
