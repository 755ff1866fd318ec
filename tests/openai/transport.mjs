// Keys, request ids, errors, retries, addresses: what is the same for every resource.
import assert from 'node:assert/strict';
import diagnostics from 'node:diagnostics_channel';
import http from 'node:http';
import { all, ask, env, fails, makeKey, plainFetch, refused, test } from './kit.mjs';

test('no key is an AuthenticationError', async (t) => {
  const client = new t.OpenAI({ apiKey: 'none', baseURL: t.base, defaultHeaders: { authorization: null } });
  await fails(client.containers.list(), 'AuthenticationError', 401, { type: 'invalid_request_error' });
});

test('a wrong key is invalid_api_key and is not repeated in full', async (t) => {
  const wrong = 'cik_' + 'w'.repeat(36);
  const client = new t.OpenAI({ apiKey: wrong, baseURL: t.base });
  const error = await fails(client.containers.list(), 'AuthenticationError', 401, { code: 'invalid_api_key' });
  assert.ok(!error.message.includes(wrong));
});

test('every answer has a request id of its own', async (t) => {
  const one = await t.client.containers.create({ name: 'ids' });
  const two = await t.client.containers.retrieve(one.id);
  assert.match(one._request_id, /^req_/);
  assert.match(two._request_id, /^req_/);
  assert.notEqual(one._request_id, two._request_id);
  const { request_id, response } = await t.client.containers.retrieve(one.id).withResponse();
  assert.equal(request_id, response.headers.get('x-request-id'));
  assert.match(response.headers.get('content-type'), /^application\/json/);
});

test('a failure has the request id that its answer has', async (t) => {
  const error = await fails(t.client.containers.retrieve('cntr_none'), 'NotFoundError', 404);
  assert.equal(error.requestID, error.headers.get('x-request-id'));
});

test('an unknown address is a 404 with all four keys', async (t) => {
  await fails(t.client.get('/nonsense'), 'NotFoundError', 404, { code: 'unknown_url', type: 'invalid_request_error' });
  await fails(t.client.get('/containers/cntr_x/nonsense'), 'NotFoundError', 404);
});

test('a wrong method is refused with all four keys', async (t) => {
  const answer = await t.fetch('/containers', { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{}' });
  assert.ok([404, 405].includes(answer.status), String(answer.status));
  assert.deepEqual(Object.keys((await answer.json()).error).sort(), ['code', 'message', 'param', 'type']);
});

test('a body that is no JSON is a 400', async (t) => {
  for (const body of ['{"name": ', '[1]', 'x', '{"name": "\\ud800"}', '{"a":'.repeat(5000)]) {
    const answer = await t.fetch('/containers', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    assert.equal(answer.status, 400, body.slice(0, 20));
    assert.deepEqual(Object.keys((await answer.json()).error).sort(), ['code', 'message', 'param', 'type']);
  }
});

test('an unknown parameter is named, with its path', async (t) => {
  await fails(t.client.containers.create({ name: 'x', flavour: 1 }), 'BadRequestError', 400, { param: 'flavour', code: 'unknown_parameter' });
  await fails(t.client.responses.create({ model: 'm', input: 'x', flavour: 1 }), 'BadRequestError', 400,
    { param: 'flavour', code: 'unknown_parameter' });
  await fails(t.client.responses.create({
    model: 'm', input: 'x', tools: [{ type: 'code_interpreter', container: { type: 'auto', files: [] } }],
  }), 'BadRequestError', 400, { param: 'tools[0].container.files', code: 'unknown_parameter' });
});

// A proxy between client and server that spoils what it is told to spoil.
async function proxy(spoil) {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push({ method: request.method, url: request.url, headers: request.headers });
    if (spoil(seen.length, request, response)) return;
    const up = http.request(new URL(request.url, env.main), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(up);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { seen, base: `http://127.0.0.1:${server.address().port}/v1`, close: () => { server.closeAllConnections(); server.close(); } };
}

test('the client repeats what was lost on the way, and says so', async (t) => {
  const way = await proxy((n, request) => n === 1 && (request.socket.destroy(), true));
  try {
    const client = new t.OpenAI({ apiKey: t.key, baseURL: way.base });
    const made = await client.containers.create({ name: 'again' });
    assert.deepEqual(way.seen.map((r) => r.headers['x-stainless-retry-count']), ['0', '1']);
    assert.deepEqual((await all(t.client.containers.list())).map((c) => c.id), [made.id]);
  } finally {
    way.close();
  }
});

test('after a 429 with retry-after-ms the client comes back and succeeds', async (t) => {
  const way = await proxy((n, request, response) => n === 1 && (request.resume(), response.writeHead(429,
    { 'content-type': 'application/json', 'retry-after-ms': '5', 'x-request-id': 'req_proxy' }),
  response.end('{"error":{"message":"m","type":"t","param":null,"code":null}}'), true));
  try {
    const client = new t.OpenAI({ apiKey: t.key, baseURL: way.base });
    assert.equal((await client.containers.create({ name: 'later' })).name, 'later');
    assert.equal(way.seen[1].headers['x-stainless-retry-count'], '1');
  } finally {
    way.close();
  }
});

test('past the runs of a minute the model hears of it and the answer stands', async (t) => {
  const key = await makeKey(env.main, { limits: { runs_per_minute: 1 } });
  const client = new t.OpenAI({ apiKey: key, baseURL: t.base });
  const response = await ask({ client }, [{ code: 'print(1)' }, { code: 'print(2)' }, { say: 'Done.' }]);
  assert.ok(['completed', 'failed'].includes(response.status), response.status);
  const text = JSON.stringify(response);
  assert.match(text, /minute|limit|wait/i);
});

test('failures that a repetition cannot mend are not repeated', async (t) => {
  const seen = [];
  const was = globalThis.fetch;
  const client = new t.OpenAI({
    apiKey: t.key, baseURL: t.base, fetch: (url, init) => { seen.push(init.method); return was(url, init); },
  });
  await fails(client.containers.create({}), 'BadRequestError', 400);
  await fails(client.containers.retrieve('cntr_none'), 'NotFoundError', 404);
  const upload = await client.uploads.create({ filename: 'a', purpose: 'user_data', bytes: 1, mime_type: 'text/plain' });
  await client.uploads.cancel(upload.id);
  seen.length = 0;
  await refused(client.uploads.complete(upload.id, { part_ids: [] }), 400, 404, 409);
  assert.equal(seen.length, 1);
});

test('500 requests use one connection', async (t) => {
  let connected = 0;
  const note = () => { connected += 1; };
  diagnostics.subscribe('undici:client:connected', note);
  try {
    for (let i = 0; i < 500; i += 1) assert.equal((await t.client.containers.list({ limit: 1 })).data.length, 0);
  } finally {
    diagnostics.unsubscribe('undici:client:connected', note);
  }
  assert.ok(connected <= 1, `${connected} connections were made`);
}, { alone: true });

test('/openai/v1 is the same, and the header api-key does', async (t) => {
  const made = await t.client.containers.create({ name: 'alias' });
  const other = new t.OpenAI({ apiKey: 'x', baseURL: t.root + '/openai/v1', defaultHeaders: { 'api-key': t.key, authorization: null } });
  assert.equal((await other.containers.retrieve(made.id)).name, 'alias');
  const slash = new t.OpenAI({ apiKey: t.key, baseURL: t.root + '/openai/v1/' });
  assert.equal((await slash.containers.retrieve(made.id)).name, 'alias');
});

test('the client for Azure works, with its api-version in the query', async (t) => {
  const client = new t.package.AzureOpenAI({ apiKey: t.key, baseURL: t.root + '/openai/v1', apiVersion: 'preview' });
  const response = await client.responses.create({ model: 'scripted-1', input: 'Hello' });
  assert.equal(response.output_text, 'You said: Hello');
  assert.equal((await client.files.list()).data.length, 0);
});

test('pages of a listed origin may call, and see the request id', async (t) => {
  const origin = 'https://app.example.org';
  const asked = ['authorization', 'content-type', 'x-stainless-lang', 'x-stainless-retry-count', 'x-stainless-timeout'];
  const answer = await plainFetch(t.base + '/responses', {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': asked.join(', ') },
  });
  assert.ok(answer.status === 204 || answer.status === 200, String(answer.status));
  assert.equal(answer.headers.get('access-control-allow-origin'), origin);
  assert.match(answer.headers.get('access-control-allow-methods'), /POST/);
  assert.match(answer.headers.get('access-control-allow-methods'), /DELETE/);
  const allowed = answer.headers.get('access-control-allow-headers').toLowerCase();
  for (const name of asked) assert.ok(allowed.includes(name) || allowed === '*' || allowed.includes('x-stainless-*'), `${name} is not in ${allowed}`);
  const got = await t.fetch('/containers', { headers: { origin } });
  assert.equal(got.headers.get('access-control-allow-origin'), origin);
  assert.match(got.headers.get('access-control-expose-headers').toLowerCase(), /x-request-id/);
});

test('HEAD says what GET would, without a body', async (t) => {
  const file = await t.client.files.create({ file: new File(['twelve bytes'], 'a.txt'), purpose: 'user_data' });
  for (const [path, length] of [['/containers', null], [`/files/${file.id}`, null], [`/files/${file.id}/content`, '12']]) {
    const answer = await t.fetch(path, { method: 'HEAD' });
    assert.equal(answer.status, 200, path);
    assert.equal(await answer.text(), '');
    if (length) assert.equal(answer.headers.get('content-length'), length);
  }
});

test('what belongs to others does not exist', async (t) => {
  const other = new t.OpenAI({ apiKey: await makeKey(env.main), baseURL: t.base });
  const container = await other.containers.create({ name: 'theirs' });
  const file = await other.files.create({ file: new File(['x'], 'x.txt'), purpose: 'user_data' });
  const response = await other.responses.create({ model: 'scripted-1', input: 'x' });
  await fails(t.client.containers.retrieve(container.id), 'NotFoundError', 404);
  await fails(t.client.containers.delete(container.id), 'NotFoundError', 404);
  await fails(t.client.files.retrieve(file.id), 'NotFoundError', 404);
  await fails(t.client.files.content(file.id), 'NotFoundError', 404);
  await fails(t.client.responses.retrieve(response.id), 'NotFoundError', 404);
  await refused(t.client.responses.create({ model: 'scripted-1', input: 'x', previous_response_id: response.id }), 400, 404);
  assert.equal((await t.client.containers.list()).data.length, 0);
  assert.equal((await t.client.files.list()).data.length, 0);
});

test('a key does what its scopes allow', async (t) => {
  const client = new t.OpenAI({ apiKey: await makeKey(env.main, { scopes: ['files:read'] }), baseURL: t.base });
  assert.equal((await client.files.list()).data.length, 0);
  await fails(client.responses.create({ model: 'scripted-1', input: 'x' }), 'PermissionDeniedError', 403);
  await fails(client.files.create({ file: new File(['x'], 'x.txt'), purpose: 'user_data' }), 'PermissionDeniedError', 403);
  await fails(client.containers.create({ name: 'x' }), 'PermissionDeniedError', 403);
});
