// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/pkg/op"
)

const keyBits = 2048

// signingKey signs tokens with RS256.
type signingKey struct {
	id      string
	private *rsa.PrivateKey
}

// newSigningKey makes a key whose name no earlier key had, so that whoever keeps
// keys in memory asks for the new one after a restart.
func newSigningKey() (*signingKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	return &signingKey{id: rand.Text(), private: private}, nil
}

func (k *signingKey) ID() string                                  { return k.id }
func (k *signingKey) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k *signingKey) Key() any                                    { return k.private }

// sign signs claims, which must be a JSON object, as they are.
func (k *signingKey) sign(claims []byte) (string, error) {
	signer, err := op.SignerFromKey(k)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return signed.CompactSerialize()
}

// publicKey is what the provider publishes of its key.
type publicKey struct{ *signingKey }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.private.PublicKey }
