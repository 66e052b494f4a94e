// Copyright The maas-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/opendatahub-io/maas-operator/test/testenv"
)

// Options say what is run, and where. Env and Images are required.
type Options struct {
	// Env is the control plane, started with [testenv.Options].RunPods.
	Env *testenv.Env
	// Images are the images there are; another one cannot be pulled.
	Images map[string]Program
	// Certificates are who makes serving certificates; usually one of both.
	Certificates []CertificateMaker
	// Addresses are those of [Runner.Service] that somebody was told before.
	Addresses map[ServicePort]string
	// Dir receives the volumes and the logs; empty means a directory of the control
	// plane's.
	Dir string
	// Log receives one line per container that starts, ends or cannot start; nil
	// discards them.
	Log io.Writer
}

// ServicePort is a port of a Service.
type ServicePort struct {
	Namespace, Name string
	Port            int32
}

// Runner runs Pods. Its methods are safe for concurrent use.
type Runner struct {
	options Options
	dir     string
	client  kubernetes.Interface
	pods    corelisters.PodLister
	secrets corelisters.SecretLister
	maps    corelisters.ConfigMapLister
	network *network

	cancel context.CancelFunc
	work   sync.WaitGroup

	logging sync.Mutex

	mu sync.Mutex // guards what is below
	// running are the Pods by their UIDs, count how many there were.
	running map[types.UID]*pod
	count   uint32
}

// Start begins to run Pods, and what makes certificates. The context bounds the
// start. Programs end with the runner, and with the process it is in.
func Start(ctx context.Context, o Options) (*Runner, error) {
	if o.Env == nil || !o.Env.Controllers() {
		return nil, errors.New("start what runs Pods: the control plane has no controllers")
	}
	r := &Runner{options: o, dir: o.Dir, running: map[types.UID]*pod{}}
	if r.dir == "" {
		r.dir = filepath.Join(o.Env.Dir(), "workload")
	}
	// What an earlier runner left there is of no use, and holds tokens.
	if err := errors.Join(os.RemoveAll(filepath.Join(r.dir, "pods")), os.MkdirAll(r.dir, 0o700)); err != nil {
		return nil, fmt.Errorf("start what runs Pods: %w", err)
	}
	config := rest.AddUserAgent(o.Env.AdminConfig(), "workload")
	var err error
	if r.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("start what runs Pods: %w", err)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	if err := r.watch(ctx, life, config); err != nil {
		return nil, errors.Join(fmt.Errorf("start what runs Pods: %w", err), r.Stop())
	}
	return r, nil
}

// watch begins to follow the cluster, and returns when it knows what there is.
func (r *Runner) watch(ctx, life context.Context, config *rest.Config) error {
	ours := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = labels.SelectorFromSet(labels.Set{testenv.RunLabel: testenv.RunLabelValue}).String()
	}))
	all := informers.NewSharedInformerFactory(r.client, 0)
	pods := ours.Core().V1().Pods()
	r.pods, r.secrets, r.maps = pods.Lister(), all.Core().V1().Secrets().Lister(), all.Core().V1().ConfigMaps().Lister()
	r.network = &network{
		services: all.Core().V1().Services().Lister(), slices: all.Discovery().V1().EndpointSlices().Lister(),
		addresses: r.options.Addresses, listeners: map[ServicePort]net.Listener{}, pods: map[string]map[int32]string{}, open: map[net.Conn]bool{},
	}
	synced := []cache.InformerSynced{all.Discovery().V1().EndpointSlices().Informer().HasSynced}
	follow := func(informer cache.SharedIndexInformer, changed func(any)) error {
		registration, err := informer.AddEventHandler(onChange(changed))
		if err != nil {
			return fmt.Errorf("follow: %w", err)
		}
		synced = append(synced, registration.HasSynced)
		return nil
	}
	makers, err := r.makers(config, all)
	if err != nil {
		return err
	}
	poke := func(o any) {
		r.wakeAll(o)
		makers.wake()
	}
	core := all.Core().V1()
	for _, informer := range []cache.SharedIndexInformer{
		core.Secrets().Informer(), core.ConfigMaps().Informer(), core.Services().Informer(), core.Namespaces().Informer(),
	} {
		if err := follow(informer, poke); err != nil {
			return err
		}
	}
	all.Start(life.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("the control plane does not answer in time")
	}
	if err := makers.start(ctx, life, &r.work); err != nil {
		return err
	}
	// Pods come last, when everything about them is known.
	if err := follow(pods.Informer(), func(o any) { r.seen(life, o) }); err != nil {
		return err
	}
	ours.Start(life.Done())
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("the control plane does not answer in time")
	}
	return nil
}

// onChange calls f with every object that came, changed or went.
func onChange(f func(any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    f,
		UpdateFunc: func(_, o any) { f(o) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			f(o)
		},
	}
}

// seen begins to run a Pod, or has it looked at.
func (r *Runner) seen(life context.Context, o any) {
	object, ok := o.(*corev1.Pod)
	if !ok || life.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.running[object.UID]; p != nil {
		p.wake()
		return
	}
	if ended(object.Status.Phase) && object.DeletionTimestamp == nil {
		return
	}
	if _, err := r.pods.Pods(object.Namespace).Get(object.Name); err != nil {
		return // It is gone.
	}
	p := r.newPod(object, cmp.Or(object.Status.PodIP, r.freeIP()))
	r.running[object.UID] = p
	r.work.Go(func() {
		p.run(life)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, p.uid)
	})
}

// freeIP is an address that no Pod has.
func (r *Runner) freeIP() string {
	all, _ := r.pods.List(labels.Everything()) // Reading what is known does not fail.
	for {
		r.count++
		ip := podIP(r.count)
		if !slices.ContainsFunc(all, func(p *corev1.Pod) bool { return p.Status.PodIP == ip }) {
			return ip
		}
	}
}

// podIP is the address of the nth Pod. Nothing listens there: it only tells Pods
// apart.
func podIP(n uint32) string {
	const network, per = 128, 250
	return fmt.Sprintf("10.%d.%d.%d", network+n/(per*per)%per, n/per%per, n%per+1)
}

// wakeAll has every Pod looked at in the namespace of an object that changed.
func (r *Runner) wakeAll(o any) {
	object, ok := o.(metav1.Object)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.running {
		if p.key.Namespace == object.GetNamespace() {
			p.wake()
		}
	}
}

// release lets a Pod go whose programs have ended.
func (r *Runner) release(ctx context.Context, p *pod) error {
	err := r.client.CoreV1().Pods(p.key.Namespace).Delete(ctx, p.key.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.uid},
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// Stop ends every program at once and leaves the Pods as they are, as a node does
// that loses its power.
func (r *Runner) Stop() error {
	r.cancel()
	if r.network != nil {
		r.network.close()
	}
	r.work.Wait()
	return nil
}

// Service is a loopback address that leads to the ready Pods of a Service, the same
// for as long as the runner runs. While there are none, connections are reset.
func (r *Runner) Service(ctx context.Context, service ServicePort) (string, error) {
	return r.network.address(ctx, service)
}

// Container is a container that was started.
type Container struct {
	Pod  types.NamespacedName
	Name string
	// Args and Env are what its program was started with, as they were rewritten.
	Args []string
	Env  map[string]string
	// Ports are loopback addresses by the ports in the Pod.
	Ports map[int32]string
	// Log is the file with its output, PID the process id, Running whether it runs.
	Log     string
	PID     int
	Running bool
	// Restarts is how often it was started again.
	Restarts int32
}

// Containers lists the containers of the Pods in a namespace that were started, the
// latest start of each, also those that ended. Pods that are gone have none.
func (r *Runner) Containers(namespace string) []Container {
	r.mu.Lock()
	var pods []*pod
	for _, p := range r.running {
		if p.key.Namespace == namespace {
			pods = append(pods, p)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(pods, func(a, b *pod) int { return cmp.Compare(a.key.Name, b.key.Name) })
	var all []Container
	for _, p := range pods {
		all = append(all, p.public()...)
	}
	return all
}

func (p *pod) public() []Container {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []Container
	for _, c := range p.all() {
		if c.starts > 0 {
			all = append(all, c.public(p))
		}
	}
	return all
}

func (r *Runner) logf(format string, args ...any) {
	if r.options.Log == nil {
		return
	}
	r.logging.Lock()
	defer r.logging.Unlock()
	fmt.Fprintf(r.options.Log, format+"\n", args...)
}

// stored reads from what the runner knows of a namespace.
type stored struct {
	secrets corelisters.SecretNamespaceLister
	maps    corelisters.ConfigMapNamespaceLister
}

func (r *Runner) contentOf(namespace string) content {
	return stored{secrets: r.secrets.Secrets(namespace), maps: r.maps.ConfigMaps(namespace)}
}

func (s stored) secret(name string) (map[string][]byte, error) {
	secret, err := s.secrets.Get(name)
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

func (s stored) configMap(name string) (map[string][]byte, error) {
	object, err := s.maps.Get(name)
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	for key, value := range object.Data {
		values[key] = []byte(value)
	}
	maps.Copy(values, object.BinaryData)
	return values, nil
}
