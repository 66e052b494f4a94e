// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenantconfig

// What this controller reads and writes itself. Secrets are never listed but by the
// one name.
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maastenantconfigs,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maastenantconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants;tenants,verbs=get;list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=configs,verbs=list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs,verbs=list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maassubscriptions;maasauthpolicies,verbs=list;watch;delete
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch
// +kubebuilder:rbac:groups=inference.opendatahub.io,resources=externalmodels,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=maas-db-config,verbs=get;list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get;list;watch
// +kubebuilder:rbac:groups=operator.authorino.kuadrant.io,resources=authorinos,verbs=list;watch
// +kubebuilder:rbac:groups=dscinitialization.opendatahub.io,resources=dscinitializations,verbs=list;watch
// +kubebuilder:rbac:groups=networking.istio.io,resources=envoyfilters,verbs=get
// +kubebuilder:rbac:groups=extensions.istio.io,resources=wasmplugins,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// What it applies and removes. The protected fields of policies, routes and rights are
// replaced by an update when others had a part in them; see package apply.
// +kubebuilder:rbac:groups="",resources=serviceaccounts;services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=roles;rolebindings;clusterrolebindings,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=kuadrant.io,resources=authpolicies;tokenratelimitpolicies,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=networking.istio.io,resources=destinationrules,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;list;watch;create;patch;delete

// What the rendered Roles and the ClusterRole grant: whoever grants a right must hold
// it. To maas-api, see docs/operations/maas-api-rights.md:
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs;maassubscriptions;maasauthpolicies,verbs=list;watch
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers,resourceNames=cluster,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=gateways,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,resourceNames=maas-db-config,verbs=get
// To the administrators of tenants:
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasauthpolicies;maassubscriptions,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maastenantconfigs,verbs=get;update;patch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=maasmodelrefs,verbs=get;list;watch
// +kubebuilder:rbac:groups=maas.opendatahub.io,resources=aitenants,verbs=get
