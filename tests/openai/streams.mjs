// Streams: order, numbers, the helper, disconnecting and coming back.
import assert from 'node:assert/strict';
import { all, asking, auto, calls, citations, env, eventually, logs, model, script, test } from './kit.mjs';
import { isPng, png } from './responses.mjs';

const plain = (response) => {
  const { output_text: _, _request_id: __, ...rest } = response;
  return JSON.parse(JSON.stringify(rest));
};
// The helper adds what it read out of an answer.
const unparsed = (value) => JSON.parse(JSON.stringify(value, (key, one) => (['parsed', 'parsed_arguments', 'output_parsed'].includes(key) ? undefined : one)));

// Names in order; deltas of the same thing are one.
const shape = (events) => events.map((e) => e.type.replace(/^response\./, ''))
  .filter((name, i, names) => !(name.endsWith('.delta') && names[i - 1] === name));

const opening = ['created', 'in_progress'];
const codeItem = ['output_item.added', 'code_interpreter_call.in_progress', 'code_interpreter_call_code.delta',
  'code_interpreter_call_code.done', 'code_interpreter_call.interpreting', 'code_interpreter_call.completed', 'output_item.done'];
const messageItem = (annotations) => ['output_item.added', 'content_part.added', 'output_text.delta',
  ...Array(annotations).fill('output_text.annotation.added'), 'output_text.done', 'content_part.done', 'output_item.done'];

function checkNumbers(events, from = 0) {
  assert.deepEqual(events.map((e) => e.sequence_number), events.map((_, i) => i + from));
}

function checkItems(events) {
  const done = events.filter((e) => e.type === 'response.output_item.done').map((e) => e.item);
  const added = events.filter((e) => e.type === 'response.output_item.added');
  assert.deepEqual(added.map((e) => e.output_index), added.map((_, i) => i));
  assert.deepEqual(added.map((e) => e.item.id), done.map((i) => i.id));
  for (const item of done) {
    const of = (type) => events.filter((e) => e.type === type && e.item_id === item.id);
    if (item.type === 'code_interpreter_call') {
      assert.equal(of('response.code_interpreter_call_code.delta').map((e) => e.delta).join(''), item.code);
      assert.equal(of('response.code_interpreter_call_code.done')[0].code, item.code);
    } else if (item.type === 'message') {
      assert.equal(of('response.output_text.delta').map((e) => e.delta).join(''), item.content[0].text);
      assert.deepEqual(of('response.output_text.annotation.added').map((e) => e.annotation), item.content[0].annotations);
    }
  }
  assert.deepEqual(events.at(-1).response.output, done);
}

const steps = [
  { code: "print('one')\nopen('/mnt/data/out.txt', 'w').write('x')" }, { code: "print('zwei 🎲')" },
  { say: 'Here 🎲 is [the file](sandbox:/mnt/data/out.txt).', delta: 5, chunk: 7 },
];

test('create with stream: the order of the events, their numbers, their items', async (t) => {
  const events = await all(await t.client.responses.create(asking(steps, { stream: true })));
  checkNumbers(events);
  assert.deepEqual(shape(events), [...opening, ...codeItem, ...codeItem, ...messageItem(1), 'completed']);
  checkItems(events);
  assert.equal(events[0].response.status, 'in_progress');
  assert.deepEqual(events[0].response.output, []);
  const last = events.at(-1).response;
  assert.equal(last.status, 'completed');
  const [cited] = citations(last);
  assert.equal([...last.output.at(-1).content[0].text].slice(cited.start_index, cited.end_index).join(''), 'sandbox:/mnt/data/out.txt');
  assert.deepEqual(plain(await t.client.responses.retrieve(last.id)), last);
});

test('the helper: finalResponse is what retrieve gives', async (t) => {
  const heard = [];
  const stream = t.client.responses.stream(asking(steps));
  stream.on('response.output_text.delta', (e) => heard.push(e.delta));
  const final = await stream.finalResponse();
  assert.equal(final.status, 'completed');
  assert.equal(heard.join(''), final.output_text);
  assert.deepEqual(unparsed(plain(final)), plain(await t.client.responses.retrieve(final.id)));
});

test('the helper and create see the same', async (t) => {
  const one = [];
  for await (const event of t.client.responses.stream(asking(steps))) one.push(event.type);
  const two = (await all(await t.client.responses.create(asking(steps, { stream: true })))).map((e) => e.type);
  assert.deepEqual([...new Set(one)], [...new Set(two)]);
});

test('streamed text without code', async (t) => {
  const events = await all(await t.client.responses.create({ model, input: 'Hi', stream: true }));
  assert.deepEqual(shape(events), [...opening, ...messageItem(0), 'completed']);
  checkNumbers(events);
  assert.equal(events.at(-1).response.output[0].content[0].text, 'You said: Hi');
});

test('streamed reasoning', async (t) => {
  const final = await t.client.responses.stream(asking([{ think: 'Hmm, well.', code: 'print(1)' }, { think: 'Oh.', say: 'One.' }])).finalResponse();
  assert.deepEqual(final.output.map((i) => i.type), ['reasoning', 'code_interpreter_call', 'reasoning', 'message']);
  assert.deepEqual(unparsed(plain(final)), plain(await t.client.responses.retrieve(final.id)));
});

test('streamed calls of a function', async (t) => {
  const f = { type: 'function', name: 'f', strict: false, parameters: { type: 'object', properties: { x: { type: 'string' } } } };
  const input = script({ code: 'print(1)' }, { calls: [{ name: 'f', arguments: { x: 'ä🎲'.repeat(20) } }] }, { say: 'Got {{last}}.' });
  const events = await all(await t.client.responses.create({ model, input, tools: [auto, f], stream: true }));
  assert.deepEqual(shape(events).slice(-5), ['output_item.added', 'function_call_arguments.delta', 'function_call_arguments.done', 'output_item.done', 'completed']);
  const call = events.at(-1).response.output.at(-1);
  assert.equal(events.filter((e) => e.type === 'response.function_call_arguments.delta').map((e) => e.delta).join(''), call.arguments);
  const final = await t.client.responses.stream({
    model, tools: [auto, f], previous_response_id: events.at(-1).response.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'back' }],
  }).finalResponse();
  assert.equal(final.output_text, 'Got back.');
});

test('a text in the smallest pieces is the same text', async (t) => {
  const say = 'Zwölf Boxkämpfer 表示 🎲👩‍👧 '.repeat(10);
  const code = `print('${'ä表🎲'.repeat(10)}')`;
  const final = await t.client.responses.stream(asking([{ code, delta: 1, chunk: 1 }, { say, delta: 1, chunk: 1 }])).finalResponse();
  assert.equal(calls(final)[0].code, code);
  assert.equal(logs(calls(final)[0]).trim(), 'ä表🎲'.repeat(10));
  assert.equal(final.output_text, say);
});

test('the head of a stream comes at once, also while the model is silent', async (t) => {
  const began = Date.now();
  const stream = await t.client.responses.create(asking([{ hang: 2, say: 'Late.' }], { stream: true }));
  const iterator = stream[Symbol.asyncIterator]();
  assert.equal((await iterator.next()).value.type, 'response.created');
  assert.ok(Date.now() - began < 1500, `${Date.now() - began} ms`);
  for (;;) if ((await iterator.next()).done) break;
}, { alone: true });

test('during long code a comment comes every 15 seconds', async (t) => {
  const response = await t.client.responses.create(asking([{ code: 'import time\ntime.sleep(17)' }, { say: 'Slept.' }], { stream: true }));
  const events = await all(response);
  assert.equal(events.at(-1).type, 'response.completed');
  assert.ok(t.store.comments >= 1, 'no comment came');
}, { seconds: 20 });

test('images of 12 MB come in one event', async (t) => {
  const final = await t.client.responses.stream(asking([{ code: png(1440) + '\ndisplay(Noise())' }, { say: 'Noise.' }])).finalResponse();
  const images = calls(final)[0].outputs.filter((o) => o.type === 'image');
  assert.equal(images.length, 2);
  assert.ok(isPng(images[0].url) + isPng(images[1].url) > 12000000);
}, { alone: true });

const running = async (t) => (await t.native('GET', '/runs?status=running')).data.length;

test('a client that leaves during code ends the run within a second', async (t) => {
  const stream = await t.client.responses.create(asking([{ code: 'import time\nwhile True: time.sleep(0.05)' }, { say: '.' }], { stream: true }));
  for await (const event of stream) if (event.type === 'response.code_interpreter_call.interpreting') break; // hangs up
  const began = Date.now();
  await eventually(async () => await running(t) === 0, 'the run is over', 1.5);
  assert.ok(Date.now() - began < 1500);
}, { alone: true });

test('a client that leaves without a stream ends the run, too', async (t) => {
  const controller = new AbortController();
  const asked = t.client.responses.create(asking([{ code: 'import time\nwhile True: time.sleep(0.05)' }]), { signal: controller.signal })
    .catch((e) => e);
  await eventually(async () => await running(t) === 1, 'the code runs');
  controller.abort();
  await asked;
  await eventually(async () => await running(t) === 0, 'the run is over', 1.5);
}, { alone: true });

test('in the background it goes on without its client, and the rest can be had', async (t) => {
  const stream = await t.client.responses.create(asking(
    [{ code: "import time\ntime.sleep(1)\nprint('on')" }, { say: 'Went on.' }], { stream: true, background: true }));
  const first = [];
  for await (const event of stream) {
    first.push(event);
    if (event.type === 'response.code_interpreter_call.interpreting') break;
  }
  const { id } = first[0].response;
  const last = first.at(-1).sequence_number;
  const rest = await all(await t.client.responses.retrieve(id, { stream: true, starting_after: last }));
  checkNumbers([...first, ...rest]);
  assert.equal(rest.at(-1).type, 'response.completed');
  assert.equal(logs(calls(rest.at(-1).response)[0]).trim(), 'on');
  const types = first.slice(0, 3).map((e) => e.type);
  assert.deepEqual(types, ['response.created', 'response.queued', 'response.in_progress']);
  // And again from the beginning, when it is over.
  const whole = await all(await t.client.responses.retrieve(id, { stream: true }));
  assert.deepEqual(whole, [...first, ...rest]);
});

test('the helper resumes a response by its id', async (t) => {
  const made = await t.client.responses.create(asking([{ code: "import time\ntime.sleep(0.3)\nprint(5)" }, { say: 'Five.' }], { background: true, stream: true }));
  let id;
  for await (const event of made) { id = event.response.id; break; }
  const final = await t.client.responses.stream({ response_id: id }).finalResponse();
  assert.equal(final.output_text, 'Five.');
});

test('ten streams of one client at once do not mix', async (t) => {
  await Promise.all(Array.from({ length: 10 }, async (_, i) => {
    const final = await t.client.responses.stream(asking([{ code: `print('number', ${i})` }, { say: 'It said {{last}}' }])).finalResponse();
    assert.equal(final.output_text.trim(), `It said number ${i}`);
  }));
});

test('an old server\'s ending is tolerated: a stream has no more after its last event', async (t) => {
  const answer = await t.fetch('/responses', {
    method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asking([{ say: 'x' }], { stream: true })),
  });
  assert.match(answer.headers.get('content-type'), /^text\/event-stream/);
  const lines = (await answer.text()).split('\n').filter((l) => l.startsWith('event: '));
  assert.equal(lines.at(-1), 'event: response.completed');
  const text = lines.join('');
  assert.ok(!text.includes(env.secret));
});
