// Follows the pods of a namespace, and knows how often the containers of each were restarted.
import { CoreV1Api, KubeConfig, makeInformer } from '@kubernetes/client-node';

export async function followRestarts(kubeconfig, namespace) {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const informer = makeInformer(config, path, () => core.listNamespacedPod({ namespace }));
  const restarts = new Map();
  const note = (pod) => {
    const counts = (pod.status?.containerStatuses ?? []).map((each) => each.restartCount);
    restarts.set(pod.metadata.name, counts.reduce((sum, each) => sum + each, 0));
  };
  informer.on('add', note);
  informer.on('update', note);
  informer.on('delete', (pod) => restarts.delete(pod.metadata.name));
  await informer.start();
  return { restarts, core, stop: () => informer.stop() };
}
