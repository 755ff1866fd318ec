// Models and chat completions.
import assert from 'node:assert/strict';
import { all, fails, model, script, test } from './kit.mjs';

const tool = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: { x: { type: 'number' } } } } };
const user = (content) => [{ role: 'user', content }];

test('the models of the upstream are listed', async (t) => {
  const found = await all(t.client.models.list());
  assert.deepEqual(found.map((m) => m.id), ['scripted-1', 'lab/scripted-2']);
});

test('a model is shown, also one with a slash in its name', async (t) => {
  assert.equal((await t.client.models.retrieve('scripted-1')).object, 'model');
  assert.equal((await t.client.models.retrieve('lab/scripted-2')).id, 'lab/scripted-2');
  await fails(t.client.models.retrieve('none'), 'NotFoundError', 404, { code: 'model_not_found' });
});

test('a chat completion is that of the upstream', async (t) => {
  const made = await t.client.chat.completions.create({ model, messages: user('Hello') });
  assert.equal(made.choices[0].message.content, 'You said: Hello');
  assert.equal(made.choices[0].finish_reason, 'stop');
  assert.ok(made.usage.total_tokens > 0);
});

test('a streamed chat completion is that of the upstream', async (t) => {
  const chunks = await all(await t.client.chat.completions.create({
    model, messages: user('Hello'), stream: true, stream_options: { include_usage: true },
  }));
  assert.equal(chunks.map((c) => c.choices[0]?.delta.content ?? '').join(''), 'You said: Hello');
  assert.ok(chunks.at(-1).usage.total_tokens > 0);
});

test('the helper of chat completions works, with a function of the caller', async (t) => {
  const stream = t.client.chat.completions.stream({ model, messages: user(script({ calls: [{ name: 'f', arguments: { x: 1 } }] })), tools: [tool] });
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, 'tool_calls');
  assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments), { x: 1 });
});

test('errors of the upstream pass through chat completions', async (t) => {
  const body = { error: { message: 'The model said no.', type: 'x', param: null, code: 'y' } };
  for (const [status, name] of [[400, 'BadRequestError'], [429, 'RateLimitError'], [500, 'InternalServerError']]) {
    const asked = t.client.chat.completions.create({ model, messages: user(script({ status, body })) }, { maxRetries: 0 });
    await assert.rejects(asked, (e) => {
      assert.equal(e.constructor.name, name, String(e));
      assert.match(e.message, /The model said no/);
      return true;
    });
  }
});

// ---- with the interpreter, which is asked for by a field that is not OpenAI's ----

const computing = (...steps) => ({ model, messages: user(script(...steps)), code_interpreter: true });

test('a chat completion runs code when it is asked to', async (t) => {
  const made = await t.client.chat.completions.create(computing({ code: "print(6 * 7)\nopen('/mnt/data/a.txt', 'w').write('x')" }, { say: 'It is {{last}}' }));
  assert.match(made.choices[0].message.content, /^It is 42/);
  assert.equal(made.choices[0].finish_reason, 'stop');
  const { container_id, calls } = made.code_interpreter;
  assert.equal(calls.length, 1);
  assert.match(calls[0].outputs[0].logs, /42/);
  const [cited] = made.code_interpreter.annotations;
  assert.deepEqual([cited.type, cited.filename, cited.container_id], ['container_file_citation', 'a.txt', container_id]);
  assert.equal(await (await t.client.containers.files.content.retrieve(cited.file_id, { container_id })).text(), 'x');
  // The container can be named the next time, and remembers.
  await t.client.chat.completions.create({ ...computing({ code: 'k = 5' }, { say: '.' }), code_interpreter: { container: container_id } });
  const next = await t.client.chat.completions.create({ ...computing({ code: 'print(k)' }, { say: '{{last}}' }), code_interpreter: { container: container_id } });
  assert.equal(next.choices[0].message.content.trim(), '5');
});

test('a streamed chat completion runs code, also through the helper', async (t) => {
  const chunks = await all(await t.client.chat.completions.create({ ...computing({ code: 'print(1)' }, { say: 'It is {{last}}' }), stream: true }));
  assert.match(chunks.map((c) => c.choices[0]?.delta.content ?? '').join(''), /^It is 1/);
  assert.equal(chunks.findLast((c) => c.choices.length).choices[0].finish_reason, 'stop');
  assert.equal(chunks.filter((c) => c.code_interpreter?.call).length, 1);
  const made = await all(await t.client.chat.completions.create({
    ...computing({ code: "open('/mnt/data/a.txt', 'w').write('x')" }, { say: 'See sandbox:/mnt/data/a.txt' }), stream: true,
  }));
  assert.deepEqual(made.flatMap((c) => c.code_interpreter?.annotations ?? []).map((a) => [a.filename, a.start_index, a.end_index]), [['a.txt', 4, 27]]);
  const final = await t.client.chat.completions.stream(computing({ code: 'print(2)' }, { say: 'It is {{last}}' })).finalChatCompletion();
  assert.match(final.choices[0].message.content, /^It is 2/);
});

test('a chat completion without that field never runs code', async (t) => {
  await t.client.chat.completions.create({ model, messages: user(script({ code: 'print(1)' }, { say: '.' })) });
  assert.equal((await all(t.client.containers.list())).length, 0);
  await fails(t.client.chat.completions.create({ ...computing({ say: 'x' }), code_interpreter: 'yes' }), 'BadRequestError', 400, { param: 'code_interpreter' });
});
