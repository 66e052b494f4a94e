// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/opendatahub-io/maas-operator/api/v1alpha1"
	"github.com/opendatahub-io/maas-operator/internal/tenancy"
	"github.com/opendatahub-io/maas-operator/test/stage"
	"github.com/opendatahub-io/maas-operator/test/testenv"
	"github.com/opendatahub-io/maas-operator/test/testenv/audit"
)

// Where things are asked for. The tenant is red.
const (
	ownNamespace      = "the tenant's own namespace"
	everywhere        = "the cluster, and all namespaces"
	registryNamespace = "the namespace of AITenants"
	infraNamespace    = "the namespace of what runs for tenants"
	gatewayNamespace  = "the namespace of Gateways"
)

// places are the namespaces behind these names, and those where nothing is allowed.
func places() map[string]string {
	return map[string]string{
		ownNamespace: red.namespace(), everywhere: "", registryNamespace: stage.AITenantNamespace, infraNamespace: infra, gatewayNamespace: stage.GatewayNamespace,
		"the namespace of another tenant": long.namespace(), "the namespace of the default tenant": theDefault.namespace(),
		"the namespace of the operator": testenv.OperatorNamespace, "a namespace of models": stage.ModelNamespace,
		"a namespace of nobody": metav1.NamespaceDefault,
	}
}

// asker tells requests of the suite from those of the program whose token it uses.
const asker = "matrix"

// Who asks.
const (
	theAdmin   = "an administrator of the tenant"
	theProgram = "the tenant's maas-api"
)

// allowed is a right: verbs, and the only object that they are for.
type allowed struct{ verbs, only string }

const (
	all  = "get list watch create update patch delete"
	read = "get list watch"
)

// matrix is everything that may be done with the tokens of a tenant, by kinds, by who
// asks, and by where. A kind of this operator's API groups needs a line, also if there
// is nothing in it.
func matrix() map[string]map[string]map[string]allowed {
	return map[string]map[string]map[string]allowed{
		"aitenants.maas.opendatahub.io":         {theAdmin: {registryNamespace: {"get", red.name}}},
		"configs.maas.opendatahub.io":           {},
		"externalmodels.maas.opendatahub.io":    {},
		"maasauthpolicies.maas.opendatahub.io":  {theAdmin: {ownNamespace: {all, ""}}, theProgram: {ownNamespace: {"list watch", ""}}},
		"maassubscriptions.maas.opendatahub.io": {theAdmin: {ownNamespace: {all, ""}}, theProgram: {ownNamespace: {"list watch", ""}}},
		"maasmodelrefs.maas.opendatahub.io":     {theAdmin: {ownNamespace: {read, ""}}, theProgram: {everywhere: {"list watch", ""}}},
		"maastenantconfigs.maas.opendatahub.io": {theAdmin: {ownNamespace: {"get update patch", v1alpha1.DefaultTenantConfigName}}},
		"tenants.maas.opendatahub.io":           {},

		"externalmodels.inference.opendatahub.io":    {},
		"externalproviders.inference.opendatahub.io": {},

		"gateways.gateway.networking.k8s.io": {theProgram: {gatewayNamespace: {"get", red.gateway}}},
		"apiservers.config.openshift.io":     {theProgram: {everywhere: {read, "cluster"}}},

		"secrets":                            {theProgram: {infraNamespace: {"get", v1alpha1.DatabaseSecretName}}},
		"services":                           {theProgram: {gatewayNamespace: {"list", ""}}},
		"tokenreviews.authentication.k8s.io": {theProgram: {everywhere: {"create", ""}}},
		"subjectaccessreviews.authorization.k8s.io": {theProgram: {everywhere: {"create", ""}}},
	}
}

// cell is a question of the matrix.
type cell struct{ who, where, kind, verb, name string }

// expected is the answer by the matrix.
func (c cell) expected() bool {
	row := matrix()[c.kind][c.who]
	for _, where := range []string{c.where, everywhere} {
		if a, found := row[where]; found && slices.Contains(strings.Fields(a.verbs), c.verb) && (a.only == "" || a.only == c.name) {
			return true
		}
	}
	return false
}

func (c cell) String() string {
	return fmt.Sprintf("%s: %s %s %s in %s", c.who, c.verb, c.kind, c.name, c.where)
}

var _ = Describe("What a tenant may", Ordered, func() {
	clients := map[string]kubernetes.Interface{}
	configs := map[string]*rest.Config{}
	var kinds []metav1.APIResource

	BeforeAll(func(ctx SpecContext) {
		sideBySide(ctx)
		bindAdmin(ctx)
		kinds = customKinds(ctx)
		for who, account := range map[string]metav1.ObjectMeta{
			theAdmin:   {Namespace: red.namespace(), Name: "administrator"},
			theProgram: {Namespace: infra, Name: red.names().MaaSAPI()},
			"nobody":   {Namespace: metav1.NamespaceDefault, Name: "default"},
		} {
			configs[who] = configOf(ctx, account.Namespace, account.Name)
			clients[who] = must(kubernetes.NewForConfig(configs[who]))
		}
	})

	It("has a line for each kind of this operator, and no other kind is forgotten", func() {
		var ours, known []string
		for _, k := range kinds {
			known = append(known, nameOf(k))
			if strings.HasSuffix(k.Group, ".opendatahub.io") {
				ours = append(ours, nameOf(k))
			}
		}
		Expect(len(kinds)).To(BeNumerically(">", len(ours)))
		lines := slices.Collect(maps.Keys(matrix()))
		for _, kind := range ours {
			Expect(lines).To(ContainElement(kind), "a kind without a line")
		}
		for _, line := range lines {
			if strings.HasSuffix(line, ".opendatahub.io") {
				Expect(known).To(ContainElement(line), "a line without a kind")
			}
		}
	})

	It("is what the matrix says, for all custom resources and verbs", func(ctx SpecContext) {
		verbs := []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}
		var questions []cell
		for _, who := range []string{theAdmin, theProgram} {
			for where := range places() {
				for _, k := range kinds {
					for _, name := range objectsOf(nameOf(k), who) {
						for _, verb := range verbs {
							questions = append(questions, cell{who, where, nameOf(k), verb, name})
						}
					}
				}
			}
		}
		wrong := ask(ctx, clients, questions)
		AddReportEntry("questions", len(questions))
		Expect(len(questions)).To(BeNumerically(">", 1000))
		Expect(wrong).To(BeEmpty())
	})

	It("is nothing else, whatever the kind", func(ctx SpecContext) {
		for where, namespace := range places() {
			if namespace == "" {
				continue // What holds everywhere holds in each namespace.
			}
			common := rulesIn(ctx, clients["nobody"], namespace)
			for _, who := range []string{theAdmin, theProgram} {
				var unexpected []string
				for _, right := range rulesIn(ctx, clients[who], namespace) {
					if !slices.Contains(common, right) && !right.expected(who, where) {
						unexpected = append(unexpected, fmt.Sprintf("%+v", right))
					}
				}
				Expect(unexpected).To(BeEmpty(), "%s in %s", who, where)
			}
		}
	})

	It("is enforced: with its tokens, nothing of another tenant can be read or written", func(ctx SpecContext) {
		mark := audit.Now()
		for _, who := range []string{theAdmin, theProgram} {
			c := must(dynamic.NewForConfig(configs[who]))
			for _, k := range kinds {
				if !k.Namespaced || k.Name == "maasmodelrefs" && who == theProgram {
					continue // Models are listed in all namespaces, to find those of the tenant.
				}
				resource := c.Resource(schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Name}).Namespace(long.namespace())
				_, err := resource.List(ctx, metav1.ListOptions{})
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s lists %s: %v", who, nameOf(k), err)
				err = resource.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s deletes %s: %v", who, nameOf(k), err)
			}
		}
		Eventually(func() ([]audit.Event, error) {
			return on.Env.Audit().After(mark, audit.InNamespace(long.namespace()), audit.Forbidden())
		}).ShouldNot(BeEmpty())
		succeeded := must(on.Env.Audit().After(mark, audit.InNamespace(long.namespace()), audit.Succeeded(),
			audit.ByUser("system:serviceaccount:"+red.namespace()+":administrator", "system:serviceaccount:"+infra+":"+red.names().MaaSAPI())))
		Expect(succeeded).To(BeEmpty())
	})
})

// bindAdmin makes an administrator of the tenant red as documented: RoleBindings to the
// two Roles that the operator makes.
func bindAdmin(ctx context.Context) {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: red.namespace(), Name: "administrator"}}
	create(ctx, account)
	for namespace, role := range map[string]string{
		red.namespace(): tenancy.TenantAdminRole(red.name), stage.AITenantNamespace: tenancy.ObjectAdminRole(red.name),
	} {
		get(ctx, namespace, role, &rbacv1.Role{})
		create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "administrator"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
		})
	}
}

// configOf is a configuration with a token of a ServiceAccount.
func configOf(ctx context.Context, namespace, name string) *rest.Config {
	GinkgoHelper()
	admin := must(kubernetes.NewForConfig(on.Env.AdminConfig()))
	token := must(admin.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{}))
	config := rest.AnonymousClientConfig(on.Env.AdminConfig())
	config.BearerToken, config.QPS, config.UserAgent = token.Status.Token, -1, asker
	return config
}

// customKinds are all kinds whose CRDs are installed.
func customKinds(ctx context.Context) []metav1.APIResource {
	GinkgoHelper()
	crds := must(must(dynamic.NewForConfig(on.Env.AdminConfig())).
		Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).List(ctx, metav1.ListOptions{}))
	var all []metav1.APIResource
	for i := range crds.Items {
		spec, _ := crds.Items[i].Object["spec"].(map[string]any)
		names, _ := spec["names"].(map[string]any)
		versions, _ := spec["versions"].([]any)
		served := slices.DeleteFunc(versions, func(v any) bool { return v.(map[string]any)["served"] != true })
		Expect(served).NotTo(BeEmpty(), crds.Items[i].GetName())
		all = append(all, metav1.APIResource{
			Name: names["plural"].(string), Group: spec["group"].(string), Version: served[0].(map[string]any)["name"].(string), Namespaced: spec["scope"] == "Namespaced",
		})
	}
	return all
}

func nameOf(k metav1.APIResource) string {
	return schema.GroupResource{Group: k.Group, Resource: k.Name}.String()
}

// objectsOf are the names that are asked for: none, and, where the matrix names one
// object, that one and another.
func objectsOf(kind, who string) []string {
	names := []string{""}
	for _, a := range matrix()[kind][who] {
		if a.only != "" {
			names = append(names, a.only, "another")
		}
	}
	return names
}

// ask has the API server answer with the tokens of those who ask, and returns the
// questions whose answers the matrix does not expect.
func ask(ctx context.Context, clients map[string]kubernetes.Interface, questions []cell) []string {
	GinkgoHelper()
	const workers = 8
	where := places()
	queue, wrong := make(chan cell), make([][]string, workers)
	var asking sync.WaitGroup
	for i := range workers {
		asking.Go(func() {
			defer GinkgoRecover()
			for q := range queue {
				resource, groupName, _ := strings.Cut(q.kind, ".")
				review, err := clients[q.who].AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
						Namespace: where[q.where], Verb: q.verb, Group: groupName, Resource: resource, Name: q.name,
					}},
				}, metav1.CreateOptions{})
				if err != nil {
					wrong[i] = append(wrong[i], fmt.Sprintf("%s: %v", q, err))
				} else if review.Status.Allowed != q.expected() {
					wrong[i] = append(wrong[i], fmt.Sprintf("%s: allowed %t", q, review.Status.Allowed))
				}
			}
		})
	}
	for _, q := range questions {
		queue <- q
	}
	close(queue)
	asking.Wait()
	return slices.Concat(wrong...)
}

// right is one of the rules by which somebody may do something.
type right struct{ verb, kind, name string }

// expected tells whether the matrix has the right.
func (r right) expected(who, where string) bool {
	return cell{who, where, r.kind, r.verb, r.name}.expected()
}

// rulesIn are all rights of somebody in a namespace, as the API server lists them.
func rulesIn(ctx context.Context, c kubernetes.Interface, namespace string) []right {
	GinkgoHelper()
	review := must(c.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{}))
	Expect(review.Status.EvaluationError).To(BeEmpty())
	var rights []right
	for _, rule := range review.Status.ResourceRules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, groupName := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						rights = append(rights, right{verb, schema.GroupResource{Group: groupName, Resource: resource}.String(), name})
					}
				}
			}
		}
	}
	return rights
}
