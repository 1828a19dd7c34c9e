import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { followRestarts } from './restarts.js';

let actorlet, cluster;

before(async () => {
  actorlet = spawn('actorlet', ['simulate-cluster', '--json', '--until-input-ends'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let line = '';
  for await (const piece of actorlet.stdout) {
    line += piece;
    if (line.includes('\n')) break;
  }
  cluster = JSON.parse(line);
});

after(() => actorlet.stdin.end());

async function order(name, fields) {
  const headers = { 'Content-Type': 'application/json' };
  const answer = await fetch(`${cluster.control}/v1/${name}`, { method: 'POST', headers, body: JSON.stringify(fields) });
  assert.ok(answer.ok, await answer.text());
}

test('restarts are counted', async () => {
  const follower = await followRestarts(cluster.kubeconfig, 'default');
  await order('behave', { name: 'web', knobs: { 'run-for': '3s,forever', 'exit-code': '1' } });
  const body = { metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'nginx' }] } };
  await follower.core.createNamespacedPod({ namespace: 'default', body });
  await order('step', { time: '1m' });
  while (follower.restarts.get('web') !== 1) await sleep(20); // the last event is on its way
  await follower.stop();
});
