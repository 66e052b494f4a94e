// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opendatahub-io/maas-operator/internal/render"
)

// Fault classifies what is wrong with an overlay.
type Fault string

// Faults. Stale and NoOp are tolerated under the policy warn; the others never.
const (
	// FaultStale is a replacement whose base is not the template of this release.
	FaultStale Fault = "Stale"
	// FaultNoOp is a replacement or patch that changes nothing.
	FaultNoOp Fault = "NoOp"
	// FaultBroken is what cannot be read, parsed, rendered or applied.
	FaultBroken Fault = "Broken"
	// FaultIdentity is what changes by what the operator knows its objects.
	FaultIdentity Fault = "Identity"
)

// Problem is one thing that is wrong with an overlay.
type Problem struct {
	// Fault is its class.
	Fault Fault
	// File is the file of the overlay at fault.
	File string
	// Message says what is wrong and what to do about it.
	Message string
}

func (p Problem) String() string { return p.File + ": " + p.Message }

// Policy says which problems keep the operator from starting.
type Policy string

// Policies.
const (
	// PolicyStrict tolerates no problem.
	PolicyStrict Policy = "strict"
	// PolicyWarn tolerates replacements that are stale, and what changes nothing.
	PolicyWarn Policy = "warn"
)

// Result is what came of the check of an overlay.
type Result struct {
	// Engine renders with the overlay; nil when a problem is fatal under every policy.
	Engine *render.Engine
	// Problems are sorted by file.
	Problems []Problem
}

// Err joins the problems that a policy does not tolerate.
func (r Result) Err(policy Policy) error {
	var errs []error
	for _, p := range r.Problems {
		if policy == PolicyWarn && (p.Fault == FaultStale || p.Fault == FaultNoOp) {
			continue
		}
		errs = append(errs, fmt.Errorf("template overlay: %s (%s)", p, p.Fault))
	}
	return errors.Join(errs...)
}

// Verify checks an overlay against the templates of this release. samples are requests
// for every template, of every platform: what is rendered from them shows whether a
// patch finds its place.
func Verify(o *Overlay, base Base, samples []render.Request) (Result, error) {
	upstream, err := base.engine()
	if err != nil {
		return Result{}, fmt.Errorf("the templates of this release: %w", err)
	}
	v := &verification{overlay: o, upstream: upstream}
	v.pins()
	if len(v.problems) == 0 || !v.broken() {
		v.trial(base, samples)
	}
	slices.SortStableFunc(v.problems, func(a, b Problem) int { return cmp.Compare(a.File, b.File) })
	return Result{Engine: v.engine, Problems: v.problems}, nil
}

type verification struct {
	overlay  *Overlay
	upstream *render.Engine
	engine   *render.Engine
	problems []Problem
}

func (v *verification) add(fault Fault, file, format string, args ...any) {
	v.problems = append(v.problems, Problem{Fault: fault, File: file, Message: fmt.Sprintf(format, args...)})
}

func (v *verification) broken() bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool { return p.Fault == FaultBroken || p.Fault == FaultIdentity })
}

// pins compares what the overlay was made for with what this release has.
func (v *verification) pins() {
	digests := v.upstream.Digests()
	for _, r := range v.overlay.Replacements {
		switch digest, known := digests[r.ID]; {
		case !known:
			v.add(FaultBroken, r.file(), "this release has no template %s; remove the file, or declare a further object below templates/extra", r.ID)
		case digest != r.Base:
			v.add(FaultStale, r.file(), "was made from another template than the one of this release (sha256:%s); maasctl overlay rebase shows what changed", digest)
		}
	}
	for i := range v.overlay.Patches {
		patch := &v.overlay.Patches[i]
		if _, known := digests[patch.Target]; !known {
			v.add(FaultBroken, patch.File, "target: this release has no template %s; maasctl templates list shows those there are", patch.Target)
		}
	}
}

// trial renders the samples with and without the overlay.
func (v *verification) trial(base Base, samples []render.Request) {
	effective := map[string]bool{}
	trial, err := v.overlay.engine(base, func(p *Patch) { effective[p.File] = true })
	if err != nil {
		v.add(FaultBroken, templatesDir, "%v", err)
		return
	}
	for _, sample := range samples {
		v.compare(trial, sample, effective)
	}
	for i := range v.overlay.Patches {
		if file := v.overlay.Patches[i].File; !effective[file] && !v.reported(file) {
			v.add(FaultNoOp, file, "changes nothing; this release renders it like that already, or the patch misses its place")
		}
	}
	for _, r := range v.overlay.Replacements {
		if !effective[r.file()] && !v.reported(r.file()) {
			v.add(FaultNoOp, r.file(), "renders what the template of this release renders; remove the file")
		}
	}
	if !v.broken() {
		v.engine, err = v.overlay.engine(base, nil)
		if err != nil {
			v.add(FaultBroken, templatesDir, "%v", err)
		}
	}
}

// compare renders one sample both ways.
func (v *verification) compare(trial *render.Engine, sample render.Request, effective map[string]bool) {
	replaced := slices.IndexFunc(v.overlay.Replacements, func(r Replacement) bool { return r.ID == sample.ID })
	file := v.blame(sample.ID)
	if file == "" && v.overlay.Profile.plain() {
		return // the overlay does not touch it
	}
	with, err := trial.Render(sample)
	if identityErr, ok := errors.AsType[*IdentityError](err); ok {
		v.once(FaultIdentity, file, identityErr.Error())
		return
	}
	if err != nil {
		v.once(FaultBroken, file, err.Error())
		return
	}
	if replaced < 0 {
		return
	}
	without, err := v.upstream.Render(sample)
	if err != nil {
		v.once(FaultBroken, file, "the sample of this release: "+err.Error())
		return
	}
	without.SetLabels(added(without.GetLabels(), v.overlay.Profile.Labels))
	without.SetAnnotations(added(without.GetAnnotations(), v.overlay.Profile.Annotations))
	v.judgeReplaced(file, with, without, effective)
}

func (v *verification) judgeReplaced(file string, with, without *unstructured.Unstructured, effective map[string]bool) {
	if err := identityOf(without).changed(with); err != nil {
		v.once(FaultIdentity, file, err.Error())
	}
	if !equality.Semantic.DeepEqual(with.Object, without.Object) {
		effective[file] = true
	}
}

// blame is the file of the overlay that changes a template: its replacement, else the
// first patch; empty when there is none.
func (v *verification) blame(id render.ID) string {
	for _, r := range v.overlay.Replacements {
		if r.ID == id {
			return r.file()
		}
	}
	for i := range v.overlay.Patches {
		if v.overlay.Patches[i].Target == id {
			return v.overlay.Patches[i].File
		}
	}
	return ""
}

func (v *verification) reported(file string) bool {
	return slices.ContainsFunc(v.problems, func(p Problem) bool { return p.File == file })
}

// once adds a problem unless it is known: samples of several platforms fail alike.
func (v *verification) once(fault Fault, file, message string) {
	if file == "" {
		file = profileFile
	}
	if p := (Problem{Fault: fault, File: file, Message: message}); !slices.Contains(v.problems, p) {
		v.problems = append(v.problems, p)
	}
}
