// Conversations.
import assert from 'node:assert/strict';
import { all, ask, calls, fails, logs, model, refused, test } from './kit.mjs';

test('a conversation is made, shown, changed and deleted', async (t) => {
  const made = await t.client.conversations.create({ metadata: { topic: 'demo' } });
  assert.match(made.id, /^conv_/);
  assert.equal(made.object, 'conversation');
  assert.deepEqual(made.metadata, { topic: 'demo' });
  assert.deepEqual((await t.client.conversations.retrieve(made.id)).metadata, { topic: 'demo' });
  assert.deepEqual((await t.client.conversations.update(made.id, { metadata: { topic: 'other' } })).metadata, { topic: 'other' });
  const gone = await t.client.conversations.delete(made.id);
  assert.deepEqual([gone.id, gone.object, gone.deleted], [made.id, 'conversation.deleted', true]);
  await fails(t.client.conversations.retrieve(made.id), 'NotFoundError', 404);
});

test('items of a conversation: begun with, added, listed, shown, removed', async (t) => {
  const made = await t.client.conversations.create({ items: [{ type: 'message', role: 'user', content: 'first' }] });
  const added = await t.client.conversations.items.create(made.id, {
    items: [{ role: 'assistant', content: 'second' }, { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'third' }] }],
  });
  assert.equal(added.data.length, 2);
  const texts = (items) => items.map((i) => i.content[0].text);
  assert.deepEqual(texts(await all(t.client.conversations.items.list(made.id))), ['third', 'second', 'first']);
  assert.deepEqual(texts(await all(t.client.conversations.items.list(made.id, { order: 'asc', limit: 1 }))), ['first', 'second', 'third']);
  const one = added.data[0];
  assert.deepEqual((await t.client.conversations.items.retrieve(one.id, { conversation_id: made.id })).content, one.content);
  await t.client.conversations.items.delete(one.id, { conversation_id: made.id });
  assert.deepEqual(texts(await all(t.client.conversations.items.list(made.id, { order: 'asc' }))), ['first', 'third']);
  await fails(t.client.conversations.items.retrieve(one.id, { conversation_id: made.id }), 'NotFoundError', 404);
});

test('responses of one conversation share what was said, and the container', async (t) => {
  const { id } = await t.client.conversations.create();
  const one = await ask(t, [{ code: 'w = 30' }, { say: 'Set.' }], { conversation: id });
  assert.equal(one.conversation?.id, id);
  const two = await ask(t, [{ code: 'print(w + 3)' }, { say: 'It is {{last}}.' }], { conversation: { id } });
  assert.equal(logs(calls(two)[0]).trim(), '33');
  assert.equal(calls(two)[0].container_id, calls(one)[0].container_id);
  const items = await all(t.client.conversations.items.list(id, { order: 'asc' }));
  assert.deepEqual(items.map((i) => i.type), ['message', 'code_interpreter_call', 'message', 'message', 'code_interpreter_call', 'message']);
});

test('a streamed response of a conversation adds to it', async (t) => {
  const { id } = await t.client.conversations.create();
  await t.client.responses.stream({ model, input: 'Hello', conversation: id }).finalResponse();
  const items = await all(t.client.conversations.items.list(id, { order: 'asc' }));
  assert.deepEqual(items.map((i) => i.content[0].text), ['Hello', 'You said: Hello']);
});

test('a conversation and a previous response exclude each other', async (t) => {
  const { id } = await t.client.conversations.create();
  const one = await t.client.responses.create({ model, input: 'x' });
  await refused(t.client.responses.create({ model, input: 'x', conversation: id, previous_response_id: one.id }), 400);
});
