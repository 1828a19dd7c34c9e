// Package ready follows the pods of a cluster, and knows which of them are Ready.
package ready

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
)

// Follow returns a lister that an informer keeps up to date until the context ends.
func Follow(ctx context.Context, client kubernetes.Interface) listers.PodLister {
	factory := informers.NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	pods.Informer()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return pods.Lister()
}

// Count returns how many pods of a namespace are Ready.
func Count(pods listers.PodLister, namespace string) (int, error) {
	found, err := pods.Pods(namespace).List(labels.Everything())
	count := 0
	for _, pod := range found {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
				count++
			}
		}
	}
	return count, err
}
