// Several things at once, and things that end before their time.
import assert from 'node:assert/strict';
import { all, ask, asking, auto, calls, eventually, fails, logs, model, refused, runIn, script, sleep, test, using } from './kit.mjs';

const forever = { code: 'import time\nwhile True: time.sleep(0.05)' };
const running = async (t) => (await t.native('GET', '/runs?status=running')).data.length;
const over = (t, id) => eventually(async () => {
  const now = await t.client.responses.retrieve(id);
  return !['queued', 'in_progress'].includes(now.status) && now;
}, 'the response is over');

test('two responses in one container wait for each other', async (t) => {
  const made = await t.client.containers.create({ name: 'shared' });
  await runIn(t.client, made.id, 'n = 0');
  const one = (i) => ask(t, [{ code: `m = n\nimport time\ntime.sleep(0.2)\nn = m + 1\nprint(n)` }, { say: `${i}` }], { tools: [using(made.id)] });
  const done = await Promise.all([1, 2, 3].map(one));
  assert.deepEqual(done.map((r) => logs(calls(r)[0]).trim()).sort(), ['1', '2', '3']);
});

test('a background response that waits for the model is cancelled at once', async (t) => {
  const made = await ask(t, [{ hang: 2.5, say: 'x' }], { background: true });
  const began = Date.now();
  assert.equal((await t.client.responses.cancel(made.id)).status, 'cancelled');
  assert.ok(Date.now() - began < 1000, `${Date.now() - began} ms`);
  await sleep(100);
  assert.equal((await t.client.responses.retrieve(made.id)).status, 'cancelled');
}, { alone: true });

test('deleting a response that goes on ends it', async (t) => {
  const made = await ask(t, [forever, { say: '.' }], { background: true });
  await eventually(() => running(t), 'the code runs');
  await t.client.responses.delete(made.id);
  await eventually(async () => await running(t) === 0, 'the run is over', 3);
  await fails(t.client.responses.retrieve(made.id), 'NotFoundError', 404);
});

test('a container that is deleted under a response does not break it', async (t) => {
  const container = await t.client.containers.create({ name: 'short' });
  const made = await ask(t, [forever, { code: 'print(1)' }, { say: 'What now?' }], { background: true, tools: [using(container.id)] });
  await eventually(() => running(t), 'the code runs');
  await t.client.containers.delete(container.id);
  await eventually(async () => await running(t) === 0, 'the run is over', 5);
  const done = await over(t, made.id);
  assert.ok(['completed', 'failed', 'incomplete'].includes(done.status), done.status);
});

test('nothing follows a response that has not ended', async (t) => {
  const made = await ask(t, [forever], { background: true });
  await refused(t.client.responses.create({ model, input: 'And?', previous_response_id: made.id }), 400, 404, 409);
  await t.client.responses.cancel(made.id);
});

test('a response is followed by another client while it is made', async (t) => {
  const made = await ask(t, [{ code: "import time\ntime.sleep(0.5)\nprint(1)" }, { say: 'One.' }], { background: true });
  const other = new t.OpenAI({ apiKey: t.key, baseURL: t.base });
  const [a, b] = await Promise.all([t.client, other].map(async (client) => all(await client.responses.retrieve(made.id, { stream: true }))));
  assert.deepEqual(a, b);
  assert.deepEqual(a.map((e) => e.sequence_number), a.map((_, i) => i));
  assert.equal(a.at(-1).type, 'response.completed');
});

test('past the responses that may go on at once one more is refused, and later taken', async (t) => {
  const client = new t.OpenAI({ apiKey: t.key, baseURL: t.base, maxRetries: 0 });
  const begin = () => client.responses.create({ model, input: script({ hang: 2.5, say: 'x' }), background: true }).catch((e) => e);
  const made = await Promise.all(Array.from({ length: 135 }, begin));
  const bad = made.filter((one) => one instanceof Error);
  assert.ok(bad.length >= 7, `${bad.length} were refused`);
  for (const e of bad) assert.ok([429, 503].includes(e.status) && e.error.message && 'param' in e.error, String(e));
  await Promise.all(made.filter((one) => one.id).map((one) => client.responses.cancel(one.id)));
  await eventually(async () => !(await begin() instanceof Error), 'one more is taken', 10);
}, { alone: true });

test('long outputs are bounded, and say so', async (t) => {
  const response = await ask(t, [{ code: "for i in range(400000): print('line', i)" }, { say: 'Long.' }]);
  const text = logs(calls(response)[0]);
  assert.match(text, /^line 0\n/);
  assert.match(text, /line 399999\s*$/);
  assert.ok(text.length < 3000000, `${text.length}`);
  assert.ok(text.length > 50000, `${text.length}`);
});

test('a long question is asked', async (t) => {
  const long = 'word '.repeat(100000);
  const response = await t.client.responses.create({ model, input: long, tools: [auto] });
  assert.ok(['completed', 'failed'].includes(response.status), response.status);
  if (response.status === 'completed') assert.match(response.output_text, /^You said: word/);
});

test('many turns of one conversation', async (t) => {
  let previous;
  for (let i = 0; i < 12; i += 1) {
    const response = await ask(t, [{ code: i ? 'total += 1\nprint(total)' : 'total = 1\nprint(total)' }, { say: 'Done.' }], { previous_response_id: previous });
    assert.equal(logs(calls(response)[0]).trim(), `${i + 1}`);
    previous = response.id;
  }
  assert.equal((await all(t.client.containers.list())).length, 1);
});
