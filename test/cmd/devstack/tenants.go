// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tenantName matches names that can be part of a file's and a host's name; the
// operator has more to say about them.
var tenantName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// about builds a command that works on one tenant of the stack in the background.
func (c *config) about(use, short string, work func(context.Context, *stack, string, io.Writer) error) *cobra.Command {
	var tenant string
	cmd := c.background(use+" NAME", short, func(ctx context.Context, s *stack, out io.Writer) error {
		if err := s.attach(); err != nil {
			return err
		}
		return work(ctx, s, tenant, out)
	})
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) != 1:
			return fmt.Errorf("name one tenant: make %s NAME=red", use)
		case args[0] == defaultTenant:
			return fmt.Errorf("%s is the default tenant, which the operator makes by itself: choose another name", defaultTenant)
		case !tenantName.MatchString(args[0]):
			return fmt.Errorf("%q is no name of a tenant: use lower case letters, digits and -", args[0])
		}
		tenant = args[0]
		return nil
	}
	return cmd
}

func (c *config) tenantCommand() *cobra.Command {
	return c.about("tenant", "Create a tenant with a Gateway, a maas-api and a model of its own", func(ctx context.Context, s *stack, name string, out io.Writer) error {
		if !s.callable() || !s.complete() {
			return errors.New("create a tenant: not all of the stack runs: start it with `make up`")
		}
		if err := s.startTenant(ctx, name); err != nil {
			return err
		}
		s.progress.total("Tenant " + name + " is set up")
		return s.presentTenant(ctx, name, out)
	})
}

// startTenant makes a tenant and everything of the samples for it.
func (s *stack) startTenant(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	t, err := s.site(name)
	if err != nil {
		return err
	}
	for _, step := range []step{
		{what: "Looking for an earlier tenant of that name", work: func(ctx context.Context) error { return s.checkGateway(ctx, t) }},
		{what: "Applying Gateway " + t.gateway().String() + " and AITenant " + name, work: func(ctx context.Context) error {
			if err := s.placeGateway(ctx, name); err != nil {
				return err
			}
			return s.apply(ctx, append(foundation(t.objects), s.declare(t)))
		}},
		{what: "Waiting until the operator has set it up", work: func(ctx context.Context) error { return s.awaitTenant(ctx, name) }},
		{what: "Starting the stand-in for its gateway", work: func(ctx context.Context) error { return s.startGateway(ctx, name) }},
		{what: "Applying a copy of config/samples for it", work: func(ctx context.Context) error { return s.apply(ctx, t.objects) }},
		{what: "Waiting until everything is in force", work: func(ctx context.Context) error { return s.convergeOn(ctx, t.objects) }},
		{what: "Making a key and calling the model with it", work: func(ctx context.Context) error { return s.visitModel(ctx, name) }},
	} {
		if err := s.progress.step(step.what, func() error { return step.work(ctx) }); err != nil {
			return err
		}
	}
	return s.writeSettings(ctx, name)
}

// declare is the AITenant as the stack makes it.
func (s *stack) declare(t *site) *unstructured.Unstructured {
	tenant := t.aiTenant()
	if s.engines {
		tenant.Object["spec"] = map[string]any{"oidc": providerSettings()}
	}
	return tenant
}

// checkGateway refuses a tenant whose Gateway is another than the one that plays here.
func (s *stack) checkGateway(ctx context.Context, t *site) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	tenant := t.aiTenant()
	if err := c.Get(ctx, client.ObjectKeyFromObject(tenant), tenant); err != nil {
		return client.IgnoreNotFound(err)
	}
	return t.ownGateway(tenant)
}

// ownGateway tells whether an AITenant has the Gateway that plays for it here.
func (t *site) ownGateway(tenant *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(tenant.Object, "spec", "gateway", "name")
	if name == "" || name == t.gateway().Name {
		return nil
	}
	return fmt.Errorf("AITenant %s has Gateway %s, and this stack plays only the one with the name of the tenant, %s: "+
		"take spec.gateway out of the AITenant, or choose another name for a new tenant", t.tenant, name, t.gateway().Name)
}

// presentTenant prints the tenants and what to do next with this one.
func (s *stack) presentTenant(ctx context.Context, name string, out io.Writer) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	w, err := readWorld(ctx, c)
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := renderTenants(out, w.tenantReports()); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := renderCalls(out, s.visited.report); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, `
For the same variables of this tenant: . %s
To delete it, with its keys: make delete-tenant NAME=%s
`, s.relative(s.layout.of(name).envFile()), name)
	return err
}

func (c *config) deleteTenantCommand() *cobra.Command {
	return c.about("delete-tenant", "Delete a tenant, and show how its keys were revoked", func(ctx context.Context, s *stack, name string, out io.Writer) error {
		t, err := s.site(name)
		if err != nil {
			return err
		}
		var job *batchv1.Job
		for _, step := range []step{
			{what: "Deleting AITenant " + name, work: func(ctx context.Context) (err error) {
				job, err = s.removeTenant(ctx, t)
				return err
			}},
			{what: "Deleting its Gateway, its model and the stand-in for its gateway", work: func(ctx context.Context) error { return s.clearTenant(ctx, t) }},
		} {
			if err := s.progress.step(step.what, func() error { return step.work(ctx) }); err != nil {
				return err
			}
		}
		fmt.Fprintln(out)
		if err := s.renderRevocation(out, job); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "\nNamespace %s stays, with what users put there.\n", t.namespace())
		return err
	})
}

// removeTenant deletes the AITenant and waits until the operator has let it go. It
// returns the Job that revoked the keys as it was last seen.
func (s *stack) removeTenant(ctx context.Context, t *site) (*batchv1.Job, error) {
	c, err := s.client()
	if err != nil {
		return nil, err
	}
	tenant := t.aiTenant()
	if err := c.Delete(ctx, tenant); apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("delete AITenant %s: there is none", t.tenant)
	} else if err != nil {
		return nil, fmt.Errorf("delete AITenant %s: %w", t.tenant, err)
	}
	var job *batchv1.Job
	var last string
	key := types.NamespacedName{Namespace: infraNamespace, Name: t.revocation()}
	err = poll(ctx, convergeTimeout, readyPoll, func(ctx context.Context) (bool, error) {
		seen := &batchv1.Job{}
		if err := c.Get(ctx, key, seen); err == nil {
			job = seen
		} else if !apierrors.IsNotFound(err) {
			return false, fmt.Errorf("get Job %s: %w", key, err)
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(tenant), tenant); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		if now := deletionOf(tenant); now != last {
			s.progress.say("%s", now)
			last = now
		}
		return false, nil
	})
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("wait until AITenant %s is gone: %w; it says: %s", t.tenant, err, last)
	}
	return job, err
}

// deletionOf is what the status of an AITenant says of its deletion.
func deletionOf(tenant *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(tenant.Object, "status", "phase")
	return orUnknown(phase) + ": " + reasonOf(conditionsOf(tenant))
}

// clearTenant removes what startTenant made beside the AITenant, the last first, and
// returns when it is gone. What the operator removed already is fine.
func (s *stack) clearTenant(ctx context.Context, t *site) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	errs := []error{s.end(t.gatewayProcess())}
	for _, o := range slices.Backward(t.objects) {
		if err := client.IgnoreNotFound(c.Delete(ctx, o.DeepCopy())); err != nil {
			errs = append(errs, fmt.Errorf("delete %s %s: %w", o.GetKind(), client.ObjectKeyFromObject(o), err))
		}
	}
	errs = append(errs, awaitGone(ctx, c, t.objects))
	delete(s.state.Addresses, t.gatewayProcess())
	delete(s.state.Addresses, t.gatewayAdmin())
	known := map[string]string{}
	errs = append(errs, readJSON(s.layout.gatewaysFile(), &known))
	delete(known, t.gateway().String())
	errs = append(errs, writeJSON(s.layout.gatewaysFile(), known), s.layout.writeState(s.state), os.RemoveAll(s.layout.of(t.tenant).dir))
	return errors.Join(errs...)
}

// awaitGone waits until no object is there any more: a namespace takes a moment, and
// whoever made the tenant again would find it on its way out.
func awaitGone(ctx context.Context, c client.Client, objects []*unstructured.Unstructured) error {
	var left string
	err := poll(ctx, convergeTimeout, convergePoll, func(ctx context.Context) (bool, error) {
		for _, o := range objects {
			err := c.Get(ctx, client.ObjectKeyFromObject(o), o.DeepCopy())
			if !apierrors.IsNotFound(err) {
				left = o.GetKind() + " " + client.ObjectKeyFromObject(o).String()
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is gone: %w", left, err)
	}
	return nil
}

// revocation is the name of the Job that revokes the tenant's keys.
func (t *site) revocation() string { return "maas-api-revoke-keys-" + t.tenant }

// renderRevocation shows what became of the Job, and what it said.
func (s *stack) renderRevocation(out io.Writer, job *batchv1.Job) error {
	jobs := &block{header: []string{"JOB", "STATE", "STARTED", "ENDED", "LOG"}, none: "no Job revoked keys"}
	var said []byte
	if job != nil {
		state := "not finished"
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				state = string(c.Type)
			}
		}
		log := s.layout.latestLog(job.Namespace, job.Name)
		if log != "" {
			said, _ = os.ReadFile(log) // Without it the Job's state says enough.
		}
		jobs.row(job.Namespace+"/"+job.Name, state, moment(job.Status.StartTime), moment(job.Status.CompletionTime), s.relative(log))
	}
	if err := jobs.write(out); err != nil {
		return err
	}
	for _, line := range messagesOf(said) {
		fmt.Fprintln(out, "  "+line)
	}
	return nil
}

func moment(t *metav1.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.TimeOnly)
}

// messagesOf are the messages of a program that logs JSON, with what they are about.
func messagesOf(log []byte) []string {
	var all []string
	for line := range bytes.Lines(log) {
		var entry struct {
			Message string `json:"message"`
			Tenant  string `json:"tenant"`
			Keys    *int64 `json:"keys"`
		}
		if json.Unmarshal(line, &entry) != nil || entry.Tenant == "" {
			continue
		}
		text := entry.Message + ": " + entry.Tenant
		if entry.Keys != nil {
			text += fmt.Sprintf(", %d", *entry.Keys)
		}
		all = append(all, text)
	}
	return all
}

// latestLog is the file with the output of the latest Pod of a Job; empty without one.
func (l layout) latestLog(namespace, job string) string {
	files, _ := filepath.Glob(filepath.Join(l.pods(), "logs", namespace+"_"+job+"-*.log")) // The pattern is well formed.
	var latest string
	var when int64
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().UnixNano() > when {
			latest, when = file, info.ModTime().UnixNano()
		}
	}
	return latest
}
