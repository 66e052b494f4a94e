// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// stagesFile is what tells KWOK how nodes and Pods behave.
func (e *Env) stagesFile() string { return filepath.Join(e.dir, "kwok-stages.yaml") }

// writeStages writes that file: KWOK's own stages, but for Pods with the label
// [RunLabel]. Those of Jobs are never completed, and with runPods others see to it
// that Pods become ready and that deleted ones end.
func (e *Env) writeStages(runPods bool) error {
	spare := []string{"pod-complete"}
	if runPods {
		spare = append(spare, "pod-ready", "pod-delete")
	}
	stages, err := ReadObjects(binary("kwok-stages.yaml"))
	if err != nil {
		return err
	}
	if err := spareRunPods(stages, spare); err != nil {
		return err
	}
	var content bytes.Buffer
	for _, stage := range stages {
		document, err := yaml.Marshal(stage)
		if err != nil {
			return fmt.Errorf("encode stage %s: %w", stage.GetName(), err)
		}
		content.WriteString("---\n")
		content.Write(document)
	}
	return writeFile(e.stagesFile(), content.Bytes())
}

// spareRunPods keeps the named stages from Pods with the label.
func spareRunPods(stages []*unstructured.Unstructured, names []string) error {
	path := []string{"spec", "selector", "matchExpressions"}
	for _, name := range names {
		i := slices.IndexFunc(stages, func(s *unstructured.Unstructured) bool { return s.GetName() == name })
		if i < 0 {
			return fmt.Errorf("read the stages of KWOK: there is none with the name %s", name)
		}
		expressions, found, err := unstructured.NestedSlice(stages[i].Object, path...)
		if err != nil {
			return fmt.Errorf("read stage %s of KWOK: %w", name, err)
		}
		if !found {
			return fmt.Errorf("read stage %s of KWOK: it selects by no expressions", name)
		}
		expressions = append(expressions, map[string]any{
			"key": `.metadata.labels["` + RunLabel + `"]`, "operator": "NotIn", "values": []any{RunLabelValue},
		})
		if err := unstructured.SetNestedSlice(stages[i].Object, expressions, path...); err != nil {
			return fmt.Errorf("change stage %s of KWOK: %w", name, err)
		}
	}
	return nil
}
