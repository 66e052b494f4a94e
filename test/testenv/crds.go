// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// CRDSet names the CRDs of one product.
type CRDSet string

// The sets there are. Those that are not said to be ours come from the products' own
// modules, see hack/crds.
const (
	MaaS               CRDSet = "maas" // this operator's, from config/crd/bases
	GatewayAPI         CRDSet = "gateway-api"
	Kuadrant           CRDSet = "kuadrant"
	Authorino          CRDSet = "authorino"
	Limitador          CRDSet = "limitador"
	Istio              CRDSet = "istio"
	KServe             CRDSet = "kserve"
	InferenceExtension CRDSet = "inference-extension"
	Prometheus         CRDSet = "prometheus"
	OpenShift          CRDSet = "openshift"
	OLM                CRDSet = "olm"
	CertManager        CRDSet = "cert-manager"  // its Certificates, in our words in test/testenv/crds
	Perses             CRDSet = "perses"        // its dashboards and datasources, in our words below it
	OpenTelemetry      CRDSet = "opentelemetry" // its collectors, in our words below it
	Stacks             CRDSet = "stacks"        // the rules of MonitoringStacks, in our words below it
)

// CRDSets lists all sets.
func CRDSets() []CRDSet {
	return []CRDSet{
		MaaS, GatewayAPI, Kuadrant, Authorino, Limitador, Istio, KServe,
		InferenceExtension, Prometheus, OpenShift, OLM, CertManager, Perses, OpenTelemetry, Stacks,
	}
}

const (
	// fieldOwner is the field manager of what the harness itself applies.
	fieldOwner = "maas-testenv"
	// crdTimeout bounds the installation, which takes seconds on an idle machine.
	crdTimeout = 8 * time.Minute
	// crdWorkers is how many CRDs are sent at once. More of them do not get done
	// sooner, and the API server gives each request only 34 seconds.
	crdWorkers = 4
	// crdRetry is how long a CRD waits when the API server was too busy for it.
	crdRetry = time.Second
	// servedPoll is how often discovery is asked for kinds that are still missing.
	servedPoll = 200 * time.Millisecond
)

// InstallCRDs stores the sets and returns when the API server serves all of
// their kinds and discovery lists them. Sets may be installed again.
func (e *Env) InstallCRDs(ctx context.Context, sets ...CRDSet) error {
	begin := time.Now()
	if err := buildCRDs(ctx, sets, e.out); err != nil {
		return err
	}
	var crds []*unstructured.Unstructured
	for _, set := range sets {
		loaded, err := LoadCRDs(set)
		if err != nil {
			return err
		}
		crds = append(crds, loaded...)
	}
	if err := e.installCRDs(ctx, crds); err != nil {
		return err
	}
	e.logf("%d CRDs (%s) installed in %s", len(crds), join(sets), since(begin))
	return nil
}

// InstallCRDFiles does the same with the CRDs in the given files, for instance
// those of a newer version of a product. Of a CRD that was installed before, the
// old schema may be in force for a moment longer: use a fresh instance where
// that matters.
func (e *Env) InstallCRDFiles(ctx context.Context, files ...string) error {
	crds, err := readCRDs(files)
	if err != nil {
		return err
	}
	return e.installCRDs(ctx, crds)
}

func (e *Env) installCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	if err := e.storeCRDs(ctx, crds); err != nil {
		return err
	}
	return e.awaitServed(ctx, crds)
}

// LoadCRDs reads the CRDs of a set. The files must have been built.
func LoadCRDs(set CRDSet) ([]*unstructured.Unstructured, error) {
	dir := filepath.Join(RepoRoot(), "bin", "crds", string(set))
	switch set {
	case MaaS:
		dir = filepath.Join(RepoRoot(), "config", "crd", "bases")
	case CertManager:
		dir = filepath.Join(RepoRoot(), "test", "testenv", "crds")
	case Perses, OpenTelemetry, Stacks:
		dir = filepath.Join(RepoRoot(), "test", "testenv", "crds", string(set))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("read CRD set %s: no files in %s", set, dir)
	}
	return readCRDs(files)
}

func readCRDs(files []string) ([]*unstructured.Unstructured, error) {
	var crds []*unstructured.Unstructured
	for _, file := range files {
		objects, err := ReadObjects(file)
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object.GetKind() == "CustomResourceDefinition" {
				crds = append(crds, object)
			}
		}
	}
	return crds, nil
}

// buildCRDs has the files of third-party sets fetched when there are any.
func buildCRDs(ctx context.Context, sets []CRDSet, out io.Writer) error {
	ours := []CRDSet{MaaS, CertManager, Perses, OpenTelemetry, Stacks}
	if !slices.ContainsFunc(sets, func(s CRDSet) bool { return !slices.Contains(ours, s) }) {
		return nil
	}
	return Build(ctx, "crds", out)
}

// storeCRDs sends the CRDs, several at once.
func (e *Env) storeCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
	config := e.AdminConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{} // other products' business
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	resource := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	queue := make(chan *unstructured.Unstructured, len(crds))
	for _, crd := range crds {
		queue <- crd
	}
	close(queue)
	var (
		workers sync.WaitGroup
		mu      sync.Mutex
		errs    []error
	)
	for range crdWorkers {
		workers.Go(func() {
			for crd := range queue {
				if err := storeObject(ctx, resource, crd); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("store CRD %s: %w", crd.GetName(), err))
					mu.Unlock()
				}
			}
		})
	}
	workers.Wait()
	return errors.Join(errs...)
}

// storeObject creates an object, such as a CRD, or replaces what is there, again
// for as long as the API server is too busy. Server-side apply of CRDs would cost it
// a second more in all.
func storeObject(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	for {
		_, err := resource.Create(ctx, object, metav1.CreateOptions{FieldManager: fieldOwner, FieldValidation: metav1.FieldValidationStrict})
		if apierrors.IsAlreadyExists(err) {
			err = replaceObject(ctx, resource, object.DeepCopy())
		}
		if !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) && !apierrors.IsConflict(err) {
			return err
		}
		select {
		case <-time.After(crdRetry):
		case <-ctx.Done():
			return err
		}
	}
}

func replaceObject(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	live, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	object.SetResourceVersion(live.GetResourceVersion())
	_, err = resource.Update(ctx, object, metav1.UpdateOptions{FieldManager: fieldOwner, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// awaitServed waits until discovery lists every served version of the CRDs.
// Discovery lists only established ones, and a client that maps kinds to
// resources right afterwards finds them.
func (e *Env) awaitServed(ctx context.Context, crds []*unstructured.Unstructured) error {
	client, err := discovery.NewDiscoveryClientForConfig(e.admin)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	wanted, err := servedResources(crds)
	if err != nil {
		return err
	}
	tick := time.NewTicker(servedPoll)
	defer tick.Stop()
	for {
		// Groups that cannot be listed yet are an error besides the result.
		_, lists, err := client.ServerGroupsAndResources()
		for _, list := range lists {
			for i := range list.APIResources {
				delete(wanted, list.GroupVersion+"/"+list.APIResources[i].Name)
			}
		}
		if len(wanted) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for CRDs: %w; not served: %s", ctx.Err(), strings.Join(sorted(wanted), ", ")), err)
		}
	}
}

// servedResources returns the group, version and plural name of all that the
// CRDs shall serve.
func servedResources(crds []*unstructured.Unstructured) (map[string]bool, error) {
	served := map[string]bool{}
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
		versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", crd.GetName(), err)
		}
		for _, v := range versions {
			version, ok := v.(map[string]any)
			if ok && version["served"] == true {
				served[fmt.Sprintf("%s/%s/%s", group, version["name"], plural)] = true
			}
		}
	}
	return served, nil
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func join(sets []CRDSet) string {
	names := make([]string, len(sets))
	for i, set := range sets {
		names[i] = string(set)
	}
	return strings.Join(names, ", ")
}
