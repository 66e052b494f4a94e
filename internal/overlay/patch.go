// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Patch is a change of the objects of one template.
type Patch struct {
	// File is the path of the patch in the overlay.
	File string
	// Target is the template whose objects it changes.
	Target render.ID

	operations jsonpatch.Patch
	merge      []byte
}

// patchDocument is the form of a patch file.
type patchDocument struct {
	// Target is the id of a template.
	Target render.ID `json:"target"`
	// JSONPatch are operations of RFC 6902.
	JSONPatch []json.RawMessage `json:"jsonPatch,omitempty"`
	// Merge is a strategic merge patch; for kinds that Kubernetes does not bring, a
	// merge patch of RFC 7386.
	Merge map[string]any `json:"merge,omitempty"`
}

func readPatch(name string, content []byte) (Patch, error) {
	var document patchDocument
	patch := Patch{File: name}
	if err := strict(content, &document); err != nil {
		return patch, err
	}
	patch.Target = document.Target
	switch {
	case document.Target == "":
		return patch, errors.New("target: is missing; set it to the id of a template, which maasctl templates list shows")
	case (len(document.JSONPatch) > 0) == (len(document.Merge) > 0):
		return patch, errors.New("needs either jsonPatch or merge")
	case len(document.Merge) > 0:
		var err error
		patch.merge, err = json.Marshal(document.Merge)
		return patch, err
	}
	text, err := json.Marshal(document.JSONPatch)
	if err != nil {
		return patch, fmt.Errorf("jsonPatch: %w", err)
	}
	if patch.operations, err = jsonpatch.DecodePatch(text); err != nil {
		return patch, fmt.Errorf("jsonPatch: %w", err)
	}
	return patch, nil
}

// apply changes an object. The error names no value of it.
func (p *Patch) apply(object *unstructured.Unstructured) error {
	text, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("%s: write the object: %w", p.File, err)
	}
	if p.operations != nil {
		if text, err = p.operations.Apply(text); err != nil {
			return fmt.Errorf("%s: %w; the template or its values are not those the patch was made for", p.File, err)
		}
	} else if text, err = p.mergeInto(object, text); err != nil {
		return fmt.Errorf("%s: merge: %w", p.File, err)
	}
	// The API machinery's own reader keeps integers, which JSON does not know.
	if err := object.UnmarshalJSON(text); err != nil {
		return fmt.Errorf("%s: leaves no object with a kind: %w", p.File, err)
	}
	return nil
}

func (p *Patch) mergeInto(object *unstructured.Unstructured, text []byte) ([]byte, error) {
	gvk := object.GroupVersionKind()
	if !clientgoscheme.Scheme.Recognizes(gvk) {
		return jsonpatch.MergePatch(text, p.merge)
	}
	typed, err := clientgoscheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(text, p.merge, typed)
}
