// What the tests share. A test is a function of `t`, and is run with every generation of the client:
//
//     test('a container is made', async (t) => { await t.client.containers.create({ name: 'x' }); });
//
// Several go on at once, but those with {alone: true}: what is timed, and what keeps this process busy. {seconds: N} of one that takes long
// lets it begin early.
//
//     t.client     the unmodified client, for a principal of its own; nothing but address and key is set
//     t.OpenAI     its class, t.package its module, t.key and t.base what it was given
//     t.strict()   a client of the second server: strict_expiry on, outputs off, Responses upstream, short runs
//     t.other(X)   of another: "locked", whose key the upstream refuses; "fenced", which offers the model no tools
//     t.fetch      a request without the client, answers are checked all the same
//     t.native     an operation of the server's own API as the same principal
//
// Every answer and every event that comes, through the client or not, is held against the schemas and searched
// for the key of the upstream model.
import { AsyncLocalStorage } from 'node:async_hooks';
import assert from 'node:assert/strict';
import { Schemas } from './schemas.mjs';

export const env = {
  main: process.env.OPENAI_MAIN, strict: process.env.OPENAI_STRICT, locked: process.env.OPENAI_LOCKED, fenced: process.env.OPENAI_FENCED,
  load: process.env.OPENAI_LOAD, admin: process.env.OPENAI_ADMIN,
  upstream: process.env.OPENAI_UPSTREAM, secret: process.env.OPENAI_SECRET, scratch: process.env.OPENAI_SCRATCH,
};
export const tests = [];
export const test = (name, run, options = {}) => tests.push({ name, run, ...options });

// ---- what comes over the wire ----

const current = new AsyncLocalStorage(); // {wrong: [], answers: number}
export const plainFetch = globalThis.fetch;
let schemas;

function seen(wrong, text) {
  if (text.includes(env.secret)) wrong.push('the key of the upstream model stands in an answer');
}

function checked(store, look) {
  try {
    store.wrong.push(...look());
  } catch (e) {
    store.wrong.push(`it could not be checked: ${e.stack}`);
  }
}

function* linesOf(state, chunk, last) {
  const pieces = state.decoder.decode(chunk ?? new Uint8Array(), { stream: !last }).split('\n');
  for (const piece of pieces.slice(0, -1)) {
    yield state.rest.join('') + piece;
    state.rest = [];
  }
  state.rest.push(pieces.at(-1));
  if (last) yield state.rest.join('');
}

function checkLine(path, store, line) {
  seen(store.wrong, line);
  if (line.startsWith(':')) store.comments += 1;
  if (!line.startsWith('data: ') || line === 'data: [DONE]') return;
  store.events += 1;
  checked(store, () => schemas.event(path, JSON.parse(line.slice(6))));
}

function checkedStream(path, store, response) {
  const state = { rest: [], decoder: new TextDecoder() };
  const take = (chunk, last) => {
    for (const line of linesOf(state, chunk, last)) checkLine(path, store, line);
  };
  const watch = new TransformStream({
    transform(chunk, out) { take(chunk, false); out.enqueue(chunk); },
    flush() { take(null, true); },
  });
  return again(response, response.body.pipeThrough(watch));
}

const again = (response, body) => {
  const made = new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  Object.defineProperty(made, 'url', { value: response.url });
  return made;
};

async function checkedFetch(input, init) {
  const response = await plainFetch(input, init);
  const store = current.getStore();
  const url = new URL(typeof input === 'string' || input instanceof URL ? input : input.url);
  if (!store || !/^(\/openai)?\/v1\//.test(url.pathname)) return response;
  store.answers += 1;
  const method = (init?.method ?? input.method ?? 'GET').toUpperCase();
  if (!/^req_/.test(response.headers.get('x-request-id') ?? '')) store.wrong.push(`${method} ${url.pathname}: no x-request-id`);
  for (const [name, value] of response.headers) seen(store.wrong, name + value);
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return checkedStream(url.pathname, store, response);
  if (method === 'HEAD' || !type.startsWith('application/json') || url.pathname.endsWith('/content')) return response;
  const text = await response.text();
  seen(store.wrong, text);
  checked(store, () => schemas.answer(method, url.pathname, response.status, JSON.parse(text)));
  return again(response, text);
}

// ---- who asks ----

const json = async (response) => {
  const text = await response.text();
  assert.ok(response.ok, `${response.url}: ${response.status} ${text.slice(0, 500)}`);
  return text ? JSON.parse(text) : null;
};

export async function native(root, key, method, path, body) {
  return json(await plainFetch(root + '/api/v1' + path, {
    method, headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    body: body && JSON.stringify(body),
  }));
}

let count = 0;
export async function makeKey(root, more = {}) {
  const who = await native(root, env.admin, 'POST', '/principals', { name: `client ${process.pid} ${(count += 1)}`, kind: 'human' });
  return (await native(root, env.admin, 'POST', '/keys', { principal: who.id, ...more })).secret;
}

export const upstreamState = async () => json(await plainFetch(new URL('/_state', env.upstream)));
export const upstreamRequests = async () => json(await plainFetch(new URL('/_requests', env.upstream)));

class T {
  constructor(name, package_, key) {
    Object.assign(this, { name, package: package_, OpenAI: package_.default, key, root: env.main, base: env.main + '/v1' });
    this.client = new this.OpenAI({ apiKey: key, baseURL: this.base });
    this.generation = Number(package_.default.VERSION?.split('.')[0] ?? 0) || undefined;
  }
  async other(name) { return new this.OpenAI({ apiKey: await makeKey(env[name]), baseURL: env[name] + '/v1' }); }
  strict() { return this.other('strict'); }
  fetch(path, init = {}) {
    return fetch(this.base + path, { ...init, headers: { authorization: `Bearer ${this.key}`, ...init.headers } });
  }
  native(method, path, body) { return native(this.root, this.key, method, path, body); }
  get store() { return current.getStore(); }
}

// ---- what tests say often ----

export const model = 'scripted-1';
// The script that the upstream model follows stands in the question (tests/api/upstream.py).
export const script = (...steps) => `Please do this.\n#script\n${JSON.stringify(steps)}`;
export const auto = { type: 'code_interpreter', container: { type: 'auto' } };
export const using = (container) => ({ type: 'code_interpreter', container });

export const asking = (steps, more = {}) => ({ model, input: script(...steps), tools: [auto], ...more });
export const ask = (t, steps, more) => t.client.responses.create(asking(steps, more));

export const calls = (response) => response.output.filter((i) => i.type === 'code_interpreter_call');
export const logs = (item) => (item.outputs ?? []).filter((o) => o.type === 'logs').map((o) => o.logs).join('');
export const citations = (response) => response.output.filter((i) => i.type === 'message')
  .flatMap((i) => i.content).flatMap((c) => c.annotations ?? []);

// Runs code in a container through a response; what it printed.
export async function runIn(client, container, code) {
  const response = await client.responses.create({ model, input: script({ code }, { say: 'Done.' }), tools: [using(container)] });
  assert.equal(response.status, 'completed', JSON.stringify(response.error));
  return logs(calls(response)[0]);
}

export async function all(iterable) {
  const found = [];
  for await (const one of iterable) found.push(one);
  return found;
}

export async function fails(promise, type, status, more = {}) {
  let error;
  try {
    await promise;
  } catch (e) {
    error = e;
  }
  assert.ok(error, 'it did not fail');
  assert.equal(error.constructor.name, type, String(error.stack ?? error).slice(0, 800));
  assert.equal(error.status, status, error.message);
  for (const key of ['message', 'type', 'param', 'code']) assert.ok(key in (error.error ?? {}), `error has no ${key}: ${JSON.stringify(error.error)}`);
  for (const [key, value] of Object.entries(more)) {
    if (value instanceof RegExp) assert.match(String(error[key]), value);
    else assert.equal(error[key], value, `${key}: ${JSON.stringify(error.error)}`);
  }
  assert.match(error.requestID ?? '', /^req_/);
  return error;
}

// The same when more than one status would do.
export async function refused(promise, ...statuses) {
  const error = await promise.then(() => null, (e) => e);
  assert.ok(statuses.includes(error?.status), `not refused with ${statuses}: ${error}`);
  return fails(Promise.reject(error), error.constructor.name, error.status);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function eventually(look, what, seconds = 30) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not happen in ${seconds} s: ${what}`);
    await sleep(25);
  }
}

// ---- running them ----

// What was kept of the runs of a test, code and outputs: the key is not in it either.
async function lookAtRuns(store, t) {
  for (const { id } of (await t.native('GET', '/runs?limit=100')).data)
    seen(store.wrong, JSON.stringify(await t.native('GET', `/runs/${id}`)));
}

async function runOne(one, generation, package_) {
  const store = { wrong: [], answers: 0, events: 0, comments: 0 };
  const began = Date.now();
  let problem = '';
  await current.run(store, async () => {
    let timer;
    try {
      const t = new T(one.name, package_, await makeKey(env.main));
      const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error('it took longer than 120 s')), 120000);
      });
      await Promise.race([one.run(t), late]);
      await lookAtRuns(store, t);
    } catch (e) {
      const stack = String(e?.stack ?? e).split('\n').filter((line) => !/^ +at /.test(line) || (/\/run-/.test(line) && !/kit\.mjs/.test(line)));
      problem = `${e?.constructor?.name}: ${stack.join('\n').slice(0, 3000)}`;
    }
    clearTimeout(timer);
  });
  if (!problem && store.wrong.length) problem = [...new Set(store.wrong)].slice(0, 6).join('\n');
  console.log(`${problem ? 'FAIL' : 'ok  '} ${generation}.x: ${one.name} (${store.answers} answers, ${store.events} events, ${Date.now() - began} ms)`);
  if (problem) console.log('     ' + problem.replaceAll('\n', '\n     '));
}

process.on('unhandledRejection', (e) => console.log(`     a failure that nobody awaited: ${e}`));

export async function runAll(generation, wanted, atOnce = 6) {
  globalThis.fetch = checkedFetch;
  const package_ = await import(`openai${generation}`);
  schemas = new Schemas(`openai${generation}`);
  const chosen = tests.filter((one) => !wanted || one.name.includes(wanted));
  for (const one of chosen.filter((o) => o.alone)) await runOne(one, generation, package_);
  const rest = chosen.filter((o) => !o.alone).sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
  await Promise.all(Array.from({ length: atOnce }, async () => {
    for (let one = rest.shift(); one; one = rest.shift()) await runOne(one, generation, package_);
  }));
}
