// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const (
	// retryPause is how long what is in the way of a start may last, when no event
	// tells that it went.
	retryPause = time.Second
	// idlePause is how long a Pod is left alone that waits for nothing but events.
	idlePause = time.Minute
	// defaultGrace is that of a Pod that says nothing.
	defaultGrace = 30
	// maxHook is how long a pause before the end may take.
	maxHook = time.Second
	// tokenLifetime is long enough for every test, so that tokens need no renewal.
	tokenLifetime = 7 * 24 * time.Hour

	tokenDirectory = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// pod runs one Pod.
type pod struct {
	runner *Runner
	key    types.NamespacedName
	uid    types.UID
	dir    string
	ip     string
	poke   chan struct{}

	mu sync.Mutex // guards what is below, also what others see of the containers
	// spec is the Pod's as it was created, object the latest that was seen.
	spec   *corev1.PodSpec
	object *corev1.Pod
	init   []*container
	main   []*container

	volumes *volumes
	// sent is the status that was written last, warned the last event.
	sent   *corev1.PodStatus
	warned string
	since  metav1.Time
}

func (r *Runner) newPod(object *corev1.Pod, ip string) *pod {
	p := &pod{
		runner: r, key: types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, uid: object.UID, ip: ip,
		dir: filepath.Join(r.dir, "pods", string(object.UID)), poke: make(chan struct{}, 1),
		spec: object.Spec.DeepCopy(), object: object, since: metav1.Now(),
	}
	for i := range p.spec.InitContainers {
		p.init = append(p.init, newContainer(&p.spec.InitContainers[i], true))
	}
	for i := range p.spec.Containers {
		p.main = append(p.main, newContainer(&p.spec.Containers[i], false))
	}
	p.volumes = &volumes{
		dir: p.dir, pod: object, from: r.contentOf(object.Namespace), token: p.token,
		tokens: map[string][]byte{}, written: map[string]files{},
	}
	return p
}

// all are its containers in the order of their start.
func (p *pod) all() []*container { return slices.Concat(p.init, p.main) }

// wake has the Pod looked at.
func (p *pod) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

// latest is the Pod as it was last seen.
func (p *pod) latest() *corev1.Pod {
	seen := p.object.DeepCopy()
	seen.Status.PodIP, seen.Status.HostIP = p.ip, hostIP
	return seen
}

// run runs the Pod until it is gone or the runner ends.
func (p *pod) run(ctx context.Context) {
	defer p.runner.network.leave(p.ip)
	defer func() { _ = os.RemoveAll(p.dir) }() // It lies in a directory that goes as well.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			p.stop(0)
			return
		case <-p.poke:
		case <-timer.C:
		}
		next, gone := p.look(ctx)
		if gone {
			return
		}
		timer.Reset(next)
	}
}

// look does what is due.
func (p *pod) look(ctx context.Context) (next time.Duration, gone bool) {
	object, err := p.runner.pods.Pods(p.key.Namespace).Get(p.key.Name)
	if err != nil || object.UID != p.uid {
		p.stop(0) // It was removed by force.
		return 0, true
	}
	p.mu.Lock()
	p.object = object
	p.mu.Unlock()
	switch {
	case object.DeletionTimestamp != nil:
		return p.terminate(ctx, object)
	case ended(object.Status.Phase):
		p.stop(0)
		return idlePause, false
	case object.Spec.NodeName == "":
		return idlePause, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	next = p.advance(ctx)
	if err := p.report(ctx, p.phase()); err != nil && ctx.Err() == nil {
		p.runner.logf("pod %s: write its status: %v", p.key, err)
		next = min(next, retryPause)
	}
	return next, false
}

func ended(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// advance brings the containers further.
func (p *pod) advance(ctx context.Context) time.Duration {
	if reason := unsupported(p.spec); reason != "" {
		p.wait(ctx, "CreateContainerConfigError", "Failed", reason)
		return idlePause
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		p.wait(ctx, "ContainerCreating", "FailedMount", err.Error())
		return retryPause
	}
	if err := p.volumes.sync(ctx); err != nil {
		p.wait(ctx, "ContainerCreating", "FailedMount", err.Error())
		if !p.begun() {
			return retryPause
		}
	}
	next := idlePause
	for _, c := range p.init {
		if pause := c.advance(ctx, p); pause > 0 {
			next = min(next, pause)
		}
		if !c.completed() {
			return next
		}
	}
	for _, c := range p.main {
		if pause := c.advance(ctx, p); pause > 0 {
			next = min(next, pause)
		}
		next = min(next, p.probe(ctx, c))
	}
	return next
}

// begun tells whether any container was started.
func (p *pod) begun() bool {
	for _, c := range p.all() {
		if c.begun() {
			return true
		}
	}
	return false
}

// wait says why no container is started yet.
func (p *pod) wait(ctx context.Context, reason, event, message string) {
	p.warn(ctx, event, message)
	for _, c := range p.all() {
		if !c.begun() {
			c.state = waiting(reason, message)
		}
	}
}

// probe asks the probes of a container that runs, and ends it if they say so.
func (p *pod) probe(ctx context.Context, c *container) time.Duration {
	next := idlePause
	if !c.running() || c.pretends {
		return next
	}
	ask := func(probe *probe, name string, eager bool) {
		if probe == nil {
			return
		}
		pause, why := probe.ask(ctx, c.spec, c.listeners, eager)
		next = min(next, pause)
		if why != nil && (probe.failed || probe.content) {
			p.warn(ctx, "Unhealthy", name+" probe failed: "+why.Error())
		}
	}
	ask(c.startup, "Startup", true)
	if !c.started() {
		return p.endUnhealthy(c, c.startup, next)
	}
	ask(c.readiness, "Readiness", true)
	ask(c.liveness, "Liveness", false)
	return p.endUnhealthy(c, c.liveness, next)
}

// endUnhealthy ends a container that a probe failed; it is started again if the Pod
// says so.
func (p *pod) endUnhealthy(c *container, by *probe, next time.Duration) time.Duration {
	if by == nil || !by.failed {
		return next
	}
	c.stop(p, p.grace())
	return eagerPeriod
}

// grace is how long programs may take to end.
func (p *pod) grace() time.Duration {
	grace := p.spec.TerminationGracePeriodSeconds
	if p.object.DeletionGracePeriodSeconds != nil {
		grace = p.object.DeletionGracePeriodSeconds
	}
	if grace == nil {
		return defaultGrace * time.Second
	}
	return time.Duration(*grace) * time.Second
}

// terminate ends the programs of a deleted Pod, and lets it go.
func (p *pod) terminate(ctx context.Context, object *corev1.Pod) (next time.Duration, gone bool) {
	p.hooks(ctx)
	p.mu.Lock()
	grace := p.grace()
	p.mu.Unlock()
	p.stop(grace)
	p.mu.Lock()
	defer p.mu.Unlock()
	if object.Spec.NodeName != "" && !ended(object.Status.Phase) {
		phase := corev1.PodSucceeded
		for _, c := range p.main {
			if !c.completed() {
				phase = corev1.PodFailed
			}
		}
		if err := p.report(ctx, phase); err != nil && ctx.Err() == nil {
			p.runner.logf("pod %s: write its last status: %v", p.key, err)
			return retryPause, false
		}
	}
	if err := p.runner.release(ctx, p); err != nil {
		p.runner.logf("pod %s: let it go: %v", p.key, err)
		return retryPause, false
	}
	return 0, true
}

// hooks waits as the containers want before their programs are told to end.
func (p *pod) hooks(ctx context.Context) {
	var pause time.Duration
	for _, c := range p.main {
		if l := c.spec.Lifecycle; l != nil && l.PreStop != nil && l.PreStop.Sleep != nil && c.running() {
			pause = max(pause, min(time.Duration(l.PreStop.Sleep.Seconds)*time.Second, maxHook))
		}
	}
	if pause == 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// stop ends every program, all at the same time.
func (p *pod) stop(grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spec.RestartPolicy = corev1.RestartPolicyNever
	var work sync.WaitGroup
	for _, c := range p.all() {
		work.Go(func() { c.stop(p, grace) })
	}
	work.Wait()
}

// connect lets Services lead to the Pod.
func (p *pod) connect() {
	ports := map[int32]string{}
	for _, c := range p.main {
		maps.Copy(ports, c.listeners)
	}
	p.runner.network.join(p.ip, ports)
}

// rewrite replaces what has another name here.
func (p *pod) rewrite(ctx context.Context, text string, all []mount) string {
	return rewriteServices(rewriteMounts(text, all), func(s ServicePort) (string, bool) {
		if !p.runner.network.exists(s) {
			return "", false
		}
		address, err := p.runner.network.address(ctx, s)
		return address, err == nil
	})
}

// kubeconfig writes a client configuration of the Pod's token, if it has one, and
// says where it is.
func (p *pod) kubeconfig(env map[string]string, all []mount) error {
	for _, m := range all {
		if m.inside != tokenDirectory || env[clientcmd.RecommendedConfigPathEnvVar] != "" {
			continue
		}
		const name = "pod"
		file := filepath.Join(p.dir, "kubeconfig")
		err := clientcmd.WriteToFile(clientcmdapi.Config{
			Clusters: map[string]*clientcmdapi.Cluster{
				name: {Server: p.runner.options.Env.URL(), CertificateAuthority: filepath.Join(m.here, "ca.crt")},
			},
			AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {TokenFile: filepath.Join(m.here, "token")}},
			Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name, Namespace: p.key.Namespace}},
			CurrentContext: name,
		}, file)
		if err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
		env[clientcmd.RecommendedConfigPathEnvVar] = file
	}
	return nil
}

// token makes a token that ends with the Pod.
func (p *pod) token(ctx context.Context, audience string) (string, error) {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(tokenLifetime.Seconds())),
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.key.Name, UID: p.uid},
	}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	account := cmp.Or(p.spec.ServiceAccountName, "default")
	response, err := p.runner.client.CoreV1().ServiceAccounts(p.key.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request a token: %w", err)
	}
	return response.Status.Token, nil
}

// unsupported names what of a Pod cannot be done here as a kubelet would.
func unsupported(spec *corev1.PodSpec) string {
	if spec.ActiveDeadlineSeconds != nil {
		return "spec.activeDeadlineSeconds of a Pod is not understood here"
	}
	for i := range spec.InitContainers {
		if spec.InitContainers[i].RestartPolicy != nil {
			return "side-cars are not understood here"
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
			if probe != nil && (probe.Exec != nil || probe.GRPC != nil || (probe.HTTPGet != nil && probe.HTTPGet.Host != "")) {
				return "probes by commands, by gRPC and of other hosts are not understood here"
			}
		}
		if l := c.Lifecycle; l != nil && (l.PostStart != nil || (l.PreStop != nil && l.PreStop.Sleep == nil)) {
			return "hooks other than a pause before the end are not understood here"
		}
	}
	return ""
}
