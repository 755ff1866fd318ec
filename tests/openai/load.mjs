// A hundred streamed answers at once, half of them asked by each generation, each with code that is run: load.mjs PID-OF-THE-SERVER
//
// No stream may fail or mix with another; the server's memory stays flat: after two rounds that warm it up, two more add less
// than GROWTH_MB; and clients that hang up end the runs and the questions to the model within a second.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import OpenAI6 from 'openai6';
import OpenAI7 from 'openai7';
import { all, asking, env, eventually, makeKey, native, upstreamState } from './kit.mjs';

const [pid] = process.argv.slice(2);
const PARALLEL = 100;
const LEAVING = 6;
const GROWTH_MB = 16;
const rssMb = () => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
const order = ['response.created', 'response.in_progress', 'response.output_item.added', 'response.code_interpreter_call.in_progress',
  'response.code_interpreter_call_code.delta', 'response.code_interpreter_call_code.done', 'response.code_interpreter_call.interpreting',
  'response.code_interpreter_call.completed', 'response.output_item.done', 'response.output_item.added', 'response.content_part.added',
  'response.output_text.delta', 'response.output_text.done', 'response.content_part.done', 'response.output_item.done', 'response.completed'];

async function check(what, run) {
  const began = Date.now();
  try {
    const said = await run();
    console.log(`ok   load: ${what}${said ? `: ${said}` : ''} (${Date.now() - began} ms)`);
  } catch (e) {
    console.log(`FAIL load: ${what} (${Date.now() - began} ms)\n     ${String(e.stack ?? e).slice(0, 2000).replaceAll('\n', '\n     ')}`);
  }
}

const key = await makeKey(env.load);
const clients = [OpenAI6, OpenAI7].map((OpenAI) => new OpenAI({ apiKey: key, baseURL: env.load + '/v1', maxRetries: 0 }));
const [client] = clients.slice(-1);

async function one(i) {
  const stream = await clients[i % 2].responses.create(asking([{ code: `print(${i} * 3)` }, { say: 'It is {{last}}.' }], { stream: true }));
  const events = await all(stream);
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, n) => n));
  const types = events.map((e) => e.type);
  assert.deepEqual(types.filter((type, n) => !(type.endsWith('.delta') && types[n - 1] === type)), order);
  const { response } = events.at(-1);
  assert.equal(response.output[1].content[0].text, `It is ${i * 3}.`);
  return response;
}

async function round() {
  const made = await Promise.all(Array.from({ length: PARALLEL }, (_, i) => one(i)));
  assert.equal(new Set(made.map((r) => r.id)).size, PARALLEL);
  await Promise.all(made.map((r) => client.containers.delete(r.output[0].container_id)));
}

const memory = [];
for (let i = 0; i < 4; i += 1) {
  await check(`${PARALLEL} streams at once, round ${i + 1}`, async () => {
    await round();
    memory.push(rssMb());
    return `${memory.at(-1).toFixed(0)} MB`;
  });
}
// A sanitizer keeps what was freed.
const isSanitized = fs.readFileSync(`/proc/${pid}/maps`, 'utf8').includes('libasan');
if (!isSanitized) await check('memory is flat', () => {
  assert.equal(memory.length, 4, 'a round failed');
  const grown = memory[3] - memory[1];
  assert.ok(grown < GROWTH_MB, `two rounds added ${grown.toFixed(1)} MB, of ${memory[1].toFixed(1)}`);
  return `two rounds added ${grown.toFixed(1)} MB, less than ${GROWTH_MB}`;
});

await check('clients that hang up during code end it within a second', async () => {
  const streams = await Promise.all(Array.from({ length: LEAVING }, async (_, i) => {
    const stream = await clients[i % 2].responses.create(asking([{ code: 'import time\nwhile True: time.sleep(0.05)' }], { stream: true }));
    const events = stream[Symbol.asyncIterator]();
    for (;;) if ((await events.next()).value?.type === 'response.code_interpreter_call.interpreting') return stream;
  }));
  const running = async () => (await native(env.load, key, 'GET', '/runs?status=running&limit=100')).data.length;
  await eventually(async () => await running() === LEAVING, 'all run');
  const began = Date.now();
  for (const stream of streams) stream.controller.abort();
  await eventually(async () => await running() === 0, 'no code runs', 10);
  assert.ok(Date.now() - began <= 1000, `${Date.now() - began} ms`);
  return `${Date.now() - began} ms`;
});

await check('clients that hang up while the model thinks end that within a second', async () => {
  const streams = await Promise.all(Array.from({ length: LEAVING }, (_, i) => clients[i % 2].responses.create(
    asking([{ hang: 50 }], { stream: true }))));
  await eventually(async () => (await upstreamState()).active === LEAVING, 'the model is asked');
  const began = Date.now();
  for (const stream of streams) stream.controller.abort();
  await eventually(async () => (await upstreamState()).active === 0, 'the model is asked no more', 10);
  assert.ok(Date.now() - began <= 1000, `${Date.now() - began} ms`);
  return `${Date.now() - began} ms`;
});
process.exit(0);
