// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package providers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/kuadrant"
	"github.com/opendatahub-io/maas-operator/test/builder"
	"github.com/opendatahub-io/maas-operator/test/enforcement/world"
	"github.com/opendatahub-io/maas-operator/test/service"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Who may use what. Everybody of the cluster's namespace "team" counts as staff.
const (
	staff  = "staff"
	guests = "guests"
	few    = "few"    // May use gpt, and soon no more.
	unpaid = "unpaid" // May use gpt, and nobody pays.
	team   = "system:serviceaccounts:team"
)

const (
	// The keys of the provider, which no client may see.
	openaiKey    = "provider-secret-of-openai"
	anthropicKey = "provider-secret-of-anthropic"

	// cost is what the provider takes for an answer, most what the few may spend.
	cost = 5
	most = 12
	// window does not end while the specs run.
	window = "1h"

	modelHeader = "X-Gateway-Model-Name"
	question    = `{"model":"any","messages":[{"role":"user","content":"ping"}]}`
)

// fixture are two models of one provider.
type fixture struct {
	tenant *world.Tenant
	// gpt is for staff, in the style of openai; claude is for guests, in that of anthropic.
	gpt, claude model
	// credentials are those of callers by what they are called in the specs.
	credentials map[string]string
}

// model is a provider's model.
type model struct {
	key types.NamespacedName
	// target is what the provider calls it, prefix where its API begins there.
	target, prefix string
}

func named(name string) model {
	return model{key: builder.Key(stage.ModelNamespace, name), target: name + "-at-the-provider", prefix: "/of-" + name}
}

// way is how a request names a model.
type way struct {
	path    string
	headers []world.Header
}

// ways are both ways to a model.
func (m model) ways() map[string]way {
	return map[string]way{
		"by its path":               {path: "/" + m.key.String() + "/v1/chat/completions"},
		"by a header with its name": {path: "/v1/chat/completions", headers: world.Headers(modelHeader, m.target)},
	}
}

// ask is a question for the model, with further headers.
func (w way) ask(headers ...world.Header) world.Request {
	return world.Request{Tenant: at.tenant, Path: w.path, Headers: append(append([]world.Header{}, w.headers...), headers...), Body: question}
}

// external is the model as its administrator describes it.
func (m model) external(provider string) *v1alpha1.ExternalModel {
	o := builder.ExternalModel(m.key.Namespace, m.key.Name)
	o.Spec.Provider, o.Spec.Endpoint, o.Spec.TargetModel, o.Spec.PathPrefix = provider, world.ProviderHost, m.target, m.prefix
	return o
}

func (m model) secret(key string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.key.Namespace, Name: m.key.Name + "-key", Labels: map[string]string{v1alpha1.LabelPayloadManaged: "true"}},
		StringData: map[string]string{v1alpha1.CredentialSecretKey: key},
	}
}

// publication is the model for the tenant's users.
func (m model) publication() *v1alpha1.MaaSModelRef {
	return builder.ModelRef(m.key.Namespace, m.key.Name).Backend(v1alpha1.BackendExternalModel, m.key.Name).Obj()
}

// prepare makes everything, and returns when it is served.
func (f *fixture) prepare(ctx context.Context) error {
	f.gpt, f.claude = named("gpt"), named("claude")
	namespace := f.tenant.Namespace
	if err := on.Create(
		ctx, readable(), f.gpt.secret(openaiKey), f.claude.secret(anthropicKey), f.gpt.external("openai"), f.claude.external("anthropic"),
		f.gpt.publication(), f.claude.publication(),
		builder.AuthPolicy(namespace, "gpt", f.gpt.key).Subjects([]string{staff, team, few, unpaid}, nil).Obj(),
		builder.AuthPolicy(namespace, "claude", f.claude.key).Subjects([]string{guests}, nil).Obj(),
		builder.Subscription(namespace, "gold").Owners([]string{staff, team}, nil).Limit(f.gpt.key, 1_000_000, window).Obj(),
		builder.Subscription(namespace, "small").Owners([]string{few}, nil).Limit(f.gpt.key, most, window).Obj(),
		builder.Subscription(namespace, "silver").Owners([]string{guests}, nil).Limit(f.claude.key, 1_000_000, window).Obj(),
	); err != nil {
		return err
	}
	for _, m := range []model{f.gpt, f.claude} {
		if err := m.await(ctx); err != nil {
			return err
		}
	}
	if err := f.collect(ctx); err != nil {
		return err
	}
	for m, who := range map[string]string{"gpt": "a token of the provider", "claude": "a guest's token"} {
		for _, way := range map[string]model{"gpt": f.gpt, "claude": f.claude}[m].ways() {
			if err := on.AwaitServed(ctx, way.ask(world.Bearer(f.credentials[who])...)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readable lets the operator look at the Secrets of the models' namespace.
func readable() *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: stage.ModelNamespace, Name: "maas-controller-provider-secrets"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "maas-controller-provider-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: testenv.OperatorNamespace, Name: testenv.OperatorServiceAccount}},
	}
}

// await waits until the model says that it is served, and Kuadrant that it is governed.
func (m model) await(ctx context.Context) error {
	if err := world.Eventually(ctx, "ExternalModel "+m.key.String(), func(ctx context.Context) error {
		o := &v1alpha1.ExternalModel{}
		if err := on.Admin.Get(ctx, m.key, o); err != nil {
			return err
		}
		if o.Status.Phase != v1alpha1.ExternalModelPhaseReady || !meta.IsStatusConditionTrue(o.Status.Conditions, string(v1alpha1.ConditionCredentialAvailable)) {
			return fmt.Errorf("%s: %+v", o.Status.Phase, o.Status.Conditions)
		}
		return nil
	}); err != nil {
		return err
	}
	published := world.Model{Tenant: at.tenant, Namespace: m.key.Namespace, Name: m.key.Name}
	if err := on.AwaitModel(ctx, published); err != nil {
		return err
	}
	for kind, key := range published.Policies() {
		if kind == kuadrant.AuthPolicy || kind == kuadrant.TokenRateLimitPolicy {
			if err := on.AwaitEnforced(ctx, kind, key); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect gets the credentials of all callers.
func (f *fixture) collect(ctx context.Context) (err error) {
	f.credentials = map[string]string{"no credential of ours": "abc", "an API key that nobody was given": "sk-oai-0123456789abcdef0123456789abcdef"}
	for name, of := range map[string]struct {
		tenant *world.Tenant
		user   string
		group  string
	}{
		"a token of the provider":     {f.tenant, "olga", staff},
		"a token of one of the few":   {f.tenant, "fabian", few},
		"a guest's token":             {f.tenant, "wanda", guests},
		"a token of who does not pay": {f.tenant, "uwe", unpaid},
		"a token of another tenant":   {on.Red, "olga", staff},
	} {
		if f.credentials[name], err = of.tenant.Token(ctx, of.tenant.Claims(of.user, of.group)); err != nil {
			return err
		}
	}
	if f.credentials["a token of the cluster"], err = on.ClusterToken(ctx, "team", "agent"); err != nil {
		return err
	}
	for name, subscription := range map[string]string{"an API key": "gold", "a revoked API key": "gold"} {
		key, err := f.tenant.NewKey(ctx, f.credentials["a token of the provider"], service.CreateKey{Name: "of olga", Subscription: subscription})
		if err != nil {
			return err
		}
		f.credentials[name] = key.Key
		if name == "a revoked API key" {
			if err := f.tenant.Revoke(ctx, f.credentials["a token of the provider"], key.ID); err != nil {
				return err
			}
		}
	}
	return nil
}
