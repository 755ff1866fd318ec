// What goes wrong at the model's end, and what a caller hears of it. The server repeats once (model.retries = 1) and waits
// three seconds for a word of the model (model.timeout_s = 3).
import assert from 'node:assert/strict';
import { all, ask, asking, calls, env, fails, logs, model, refused, test } from './kit.mjs';

// Whether it came as an error of HTTP or as a response that failed: what it says.
async function trouble(promise) {
  let response;
  try {
    response = await promise;
  } catch (e) {
    assert.ok(e.status >= 400, String(e.stack));
    for (const key of ['message', 'type', 'param', 'code']) assert.ok(key in e.error, `no ${key} in ${JSON.stringify(e.error)}`);
    return { status: e.status, code: e.code, message: e.message };
  }
  assert.equal(response.status, 'failed', JSON.stringify(response));
  assert.ok(response.error.code && response.error.message, JSON.stringify(response.error));
  return { status: 200, ...response.error };
}

const never = (status, headers) => ({ status, headers, body: { error: { message: 'The model said no.', type: 'x', param: null, code: null } } });

for (const status of [401, 403, 404, 429, 500, 503]) {
  test(`an upstream that answers ${status} is told, without its key`, async (t) => {
    const told = await trouble(ask(t, [never(status, { 'retry-after': '0' })], {}));
    assert.ok(told.message.length > 10, told.message);
    assert.ok(!told.message.includes(env.secret));
    if (status === 429) assert.match(told.code, /rate_limit|quota|limit/);
  });
}

test('an upstream that shows the key it got is not quoted', async (t) => {
  const client = await t.other('locked');
  const told = await trouble(client.responses.create(asking([{ say: 'x' }])));
  assert.ok(!JSON.stringify(told).includes(env.secret));
  await assert.rejects(async () => { for await (const _ of await client.responses.create(asking([{ say: 'x' }], { stream: true }))); });
  const chat = () => client.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }] }, { maxRetries: 0 });
  for (const call of [chat, () => client.models.list({ maxRetries: 0 })]) {
    const error = await call().then(() => null, (e) => e);
    assert.ok(error.status >= 400 && !String(error.stack + JSON.stringify(error.error)).includes(env.secret), String(error));
  }
});

test('a 429 and a 500 that pass are repeated', async (t) => {
  for (const status of [429, 500]) {
    const mark = `${t.key}${status}`.slice(-20);
    const response = await ask(t, [{ status, headers: { 'retry-after': '0' }, times: 1, then: { say: `In the end ${mark}.` } }]);
    assert.equal(response.output_text, `In the end ${mark}.`);
  }
});

test('garbage of the upstream is told as such', async (t) => {
  for (const raw of ['this is no event stream', 'data: {"choices": [{"delta": \n\n', '<html>Bad gateway</html>']) {
    await trouble(ask(t, [{ raw }]));
  }
});

test('a silent upstream is given up', async (t) => {
  const began = Date.now();
  await trouble(ask(t, [{ hang: 60 }]));
  assert.ok(Date.now() - began < 20000, `${Date.now() - began} ms`);
}, { seconds: 10 });

test('an upstream that hangs up in the middle is told', async (t) => {
  const response = await ask(t, [{ say: 'A longer text, '.repeat(100), cut: true, times: 1, then: { say: 'Whole.' } }]).catch((e) => e);
  if (response.status === 'completed') assert.match(response.output_text, /Whole\.$/);
  else assert.ok(response.status === 'failed' || response.status >= 400, String(response));
  await trouble(ask(t, [{ say: 'A longer text, '.repeat(100), cut: true }]));
});

test('an error after code keeps what was computed', async (t) => {
  const response = await ask(t, [{ code: "open('/mnt/data/kept.txt', 'w').write('kept')\nprint('ran')" }, never(500)]).catch((e) => e);
  if (response.output) assert.equal(logs(calls(response)[0]).trim(), 'ran');
  const [container] = await all(t.client.containers.list());
  assert.deepEqual((await all(t.client.containers.files.list(container.id))).map((f) => f.path), ['/mnt/data/kept.txt']);
});

test('in a stream, an error of the upstream is thrown as an APIError', async (t) => {
  const stream = await t.client.responses.create(asking([never(500)], { stream: true }));
  const types = [];
  await assert.rejects(async () => { for await (const event of stream) types.push(event.type); }, (e) => {
    assert.ok(e instanceof t.OpenAI.APIError, String(e));
    assert.ok(e.message.length > 5);
    assert.ok(!e.message.includes(env.secret));
    return true;
  });
  assert.deepEqual(types.slice(0, 2), ['response.created', 'response.in_progress']);
});

test('in the helper, an error of the upstream is thrown', async (t) => {
  await assert.rejects(t.client.responses.stream(asking([never(500)])).finalResponse(), (e) => e instanceof t.OpenAI.APIError);
});

test('a background response that fails says so when looked at', async (t) => {
  const made = await ask(t, [never(500)], { background: true });
  for (;;) {
    const now = await t.client.responses.retrieve(made.id);
    if (['queued', 'in_progress'].includes(now.status)) continue;
    assert.equal(now.status, 'failed');
    assert.ok(now.error.code && now.error.message);
    break;
  }
});

test('a model that never succeeds is stopped at the limit, and says honestly so', async (t) => {
  const response = await ask(t, [...Array.from({ length: 6 }, () => ({ code: '1 / 0' })), { say: 'I could not.' }], { max_tool_calls: 3 });
  assert.equal(calls(response).length, 3);
  for (const one of calls(response)) assert.match(logs(one), /ZeroDivisionError/);
});

test('wrong requests for a response name what is wrong', async (t) => {
  const make = (more) => t.client.responses.create({ model, input: 'x', ...more });
  await fails(t.client.responses.create({ model }), 'BadRequestError', 400, { param: /input|prompt/ });
  await fails(make({ input: 5 }), 'BadRequestError', 400, { param: /^input/ });
  await fails(make({ input: [{ role: 'king', content: 'x' }] }), 'BadRequestError', 400, { param: /^input\[0\]/ });
  await fails(make({ tools: [{ type: 'code_interpreter' }] }), 'BadRequestError', 400, { param: /^tools\[0\]/ });
  await fails(make({ tools: [{ type: 'code_interpreter', container: { type: 'auto', memory_limit: '3g' } }] }), 'BadRequestError', 400,
    { param: /^tools\[0\]\.container/ });
  await fails(make({ tools: [{ type: 'teleport' }] }), 'BadRequestError', 400, { param: /^tools\[0\]/ });
  await fails(make({ tool_choice: 'sometimes' }), 'BadRequestError', 400, { param: /^tool_choice/ });
  await fails(make({ include: ['everything'] }), 'BadRequestError', 400, { param: /^include/ });
  await fails(make({ max_tool_calls: -1 }), 'BadRequestError', 400, { param: 'max_tool_calls' });
  await fails(make({ temperature: 'hot' }), 'BadRequestError', 400, { param: 'temperature' });
  await fails(make({ metadata: { ['k'.repeat(65)]: 'x' } }), 'BadRequestError', 400, { param: /^metadata/ });
  await fails(make({ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) }), 'BadRequestError', 400, { param: /^metadata/ });
  await refused(make({ previous_response_id: 'resp_none' }), 400, 404);
  await refused(make({ conversation: 'conv_none' }), 400, 404);
  await refused(make({ tools: [{ type: 'code_interpreter', container: 'cntr_none' }] }), 400, 404);
  await refused(make({ input: [{ type: 'item_reference', id: 'msg_none' }] }), 400, 404);
});

test('background needs store', async (t) => {
  await refused(t.client.responses.create({ model, input: 'x', background: true, store: false }), 400);
});
