// Responses with the code interpreter.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import {
  all, ask, asking, auto, calls, citations, env, eventually, fails, logs, model, refused, runIn, script, test, upstreamRequests, using,
} from './kit.mjs';

// A PNG of noise, made without any library, shown as a chart would be.
export const png = (side) => `
import os, struct, zlib
class Noise:
    def _repr_png_(self):
        rows = b''.join(b'\\0' + os.urandom(${side} * 3) for _ in range(${side}))
        def chunk(kind, data):
            return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
        return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', ${side}, ${side}, 8, 2, 0, 0, 0))
                + chunk(b'IDAT', zlib.compress(rows, 0)) + chunk(b'IEND', b''))
display(Noise())`;

export const isPng = (url) => {
  assert.match(url.slice(0, 40), /^data:image\/png;base64,/);
  const bytes = Buffer.from(url.slice(22), 'base64');
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  assert.equal(bytes.subarray(-8, -4).toString(), 'IEND');
  return bytes.length;
};

const weather = {
  type: 'function', name: 'get_weather', description: 'The weather somewhere.', strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
};
const containerCount = async (t) => (await all(t.client.containers.list())).length;

test('a question without code is answered, and no container is made', async (t) => {
  const response = await t.client.responses.create({ model, input: 'Hello', tools: [auto] });
  assert.match(response.id, /^resp_[A-Za-z0-9_-]{1,59}$/);
  assert.equal(response.status, 'completed');
  assert.equal(response.output_text, 'You said: Hello');
  assert.deepEqual(response.output.map((i) => i.type), ['message']);
  assert.match(response.output[0].id, /^msg_/);
  assert.equal(await containerCount(t), 0);
});

test('code is run, and the item has code, container and logs', async (t) => {
  const response = await ask(t, [{ code: "print('six times seven is', 6 * 7)" }, { say: 'It is {{last}}.' }],
    { include: ['code_interpreter_call.outputs'] });
  assert.deepEqual(response.output.map((i) => i.type), ['code_interpreter_call', 'message']);
  const [call] = calls(response);
  assert.match(call.id, /^ci_/);
  assert.equal(call.status, 'completed');
  assert.equal(call.code, "print('six times seven is', 6 * 7)");
  assert.match(call.container_id, /^cntr_/);
  assert.equal(logs(call).trim(), 'six times seven is 42');
  assert.match(response.output_text, /six times seven is 42/);
  assert.equal((await t.client.containers.retrieve(call.container_id)).status, 'running');
  assert.equal(await containerCount(t), 1);
});

test('outputs are there without being asked for', async (t) => {
  const response = await ask(t, [{ code: 'print(1)' }, { say: '.' }]);
  assert.equal(logs(calls(response)[0]).trim(), '1');
});

test('with outputs off they are null, unless included; on create, retrieve and input_items', async (t) => {
  const client = await t.strict();
  const without = await client.responses.create(asking([{ code: 'print(1)' }, { say: '.' }]));
  assert.equal(calls(without)[0].outputs, null);
  const include = ['code_interpreter_call.outputs'];
  assert.equal(calls(await client.responses.retrieve(without.id))[0].outputs, null);
  assert.equal(logs(calls(await client.responses.retrieve(without.id, { include }))[0]).trim(), '1');
  const withThem = await client.responses.create(asking([{ code: 'print(2)' }, { say: '.' }], { include }));
  assert.equal(logs(calls(withThem)[0]).trim(), '2');
  const next = await client.responses.create({ model, input: [...withThem.output, { role: 'user', content: 'And?' }] });
  const items = await all(client.responses.inputItems.list(next.id, { include }));
  assert.equal(logs(items.find((i) => i.type === 'code_interpreter_call')).trim(), '2');
});

test('the last expression is shown', async (t) => {
  const response = await ask(t, [{ code: 'x = 40\nx + 2' }, { say: 'It is {{last}}.' }]);
  assert.match(logs(calls(response)[0]), /42/);
});

test('a chart is an image, as a data URL', async (t) => {
  const response = await ask(t, [{ code: "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.show()" }, { say: 'Drawn.' }]);
  const image = calls(response)[0].outputs.find((o) => o.type === 'image');
  assert.ok(isPng(image.url) > 1000);
});

test('citations count code points, with emoji and CJK before them', async (t) => {
  const said = '🎲🎲 結果です: [表](sandbox:/mnt/data/表 1.csv), 👩‍👩‍👧 and again [it](sandbox:/mnt/data/plain.csv).';
  const response = await ask(t, [
    { code: "open('/mnt/data/表 1.csv', 'w').write('a')\nopen('/mnt/data/plain.csv', 'w').write('b')" }, { say: said },
  ]);
  const text = response.output.at(-1).content[0].text;
  assert.equal(text, said);
  const found = citations(response).filter((a) => a.type === 'container_file_citation');
  assert.equal(found.length, 2, JSON.stringify(found));
  const points = [...text];
  for (const one of found) {
    assert.equal(points.slice(one.start_index, one.end_index).join(''), `sandbox:/mnt/data/${one.filename}`);
    const file = await t.client.containers.files.retrieve(one.file_id, { container_id: one.container_id });
    assert.equal(file.path, `/mnt/data/${one.filename}`);
    assert.equal(one.container_id, calls(response)[0].container_id);
  }
  assert.deepEqual(found.map((a) => a.filename).sort(), ['plain.csv', '表 1.csv']);
});

test('a file that the text does not speak of is cited at 0, 0', async (t) => {
  const response = await ask(t, [{ code: "open('/mnt/data/silent.txt', 'w').write('x')" }, { say: 'Done.' }]);
  const [one, ...more] = citations(response);
  assert.deepEqual([one.type, one.filename, one.start_index, one.end_index, more.length], ['container_file_citation', 'silent.txt', 0, 0, 0]);
  assert.equal(await (await t.client.containers.files.content.retrieve(one.file_id, { container_id: one.container_id })).text(), 'x');
});

test('a traceback is in the logs, with what was printed before, and the model mends it', async (t) => {
  const response = await ask(t, [
    { code: "print('before')\n1 / 0" }, { code: 'undefined_name' }, { code: 'print(7)' }, { say: 'At last {{last}}.' },
  ]);
  const [one, two, three] = calls(response);
  assert.match(logs(one), /before[\s\S]*Traceback[\s\S]*ZeroDivisionError/);
  assert.equal(one.status, 'completed');
  assert.match(logs(two), /NameError/);
  assert.equal(logs(three).trim(), '7');
  assert.match(response.output_text, /At last 7/);
  assert.equal(new Set([one, two, three].map((c) => c.container_id)).size, 1);
});

test('max_tool_calls is the end of it', async (t) => {
  const response = await ask(t, Array.from({ length: 8 }, (_, i) => ({ code: `print(${i})` })), { max_tool_calls: 2 });
  assert.equal(calls(response).length, 2);
  assert.equal(response.max_tool_calls, 2);
  assert.ok(['completed', 'incomplete'].includes(response.status));
});

test('tool_choice none lets nothing run', async (t) => {
  const response = await ask(t, [{ code: 'print(1)' }, { say: '.' }], { tool_choice: 'none' });
  assert.equal(calls(response).length, 0);
  assert.equal(response.tool_choice, 'none');
  assert.equal(await containerCount(t), 0);
});

test('tool_choice required and code_interpreter reach the model', async (t) => {
  for (const tool_choice of ['required', { type: 'code_interpreter' }]) {
    const mark = crypto.randomUUID();
    const response = await t.client.responses.create({
      model, tools: [auto], tool_choice, input: script({ code: `print('${mark}')` }, { say: '.' }),
    });
    assert.equal(logs(calls(response)[0]).trim(), mark);
    assert.deepEqual(response.tool_choice, tool_choice);
    const asked = (await upstreamRequests()).filter((r) => JSON.stringify(r).includes(mark));
    assert.notEqual(JSON.stringify(asked[0].tool_choice ?? 'auto'), '"auto"');
  }
});

test('a container by its id keeps variables', async (t) => {
  const made = await t.client.containers.create({ name: 'mine' });
  await runIn(t.client, made.id, 'x = 20');
  const response = await ask(t, [{ code: 'print(x + 2)' }, { say: '.' }], { tools: [using(made.id)] });
  assert.equal(logs(calls(response)[0]).trim(), '22');
  assert.equal(calls(response)[0].container_id, made.id);
  assert.equal(await containerCount(t), 1);
});

test('auto with previous_response_id goes on in the same container', async (t) => {
  const one = await ask(t, [{ code: 'y = 5' }, { say: '.' }]);
  const two = await ask(t, [{ code: 'print(y * 2)' }, { say: 'It is {{last}}.' }], { previous_response_id: one.id });
  assert.equal(two.previous_response_id, one.id);
  assert.equal(calls(two)[0].container_id, calls(one)[0].container_id);
  assert.equal(logs(calls(two)[0]).trim(), '10');
  const three = await ask(t, [{ code: 'print(y + 1)' }, { say: '.' }], { previous_response_id: two.id });
  assert.equal(logs(calls(three)[0]).trim(), '6');
});

test('the conversation up to now reaches the model, instructions do not', async (t) => {
  const mark = crypto.randomUUID();
  const one = await t.client.responses.create({ model, input: `First ${mark}`, instructions: 'Be brief.' });
  assert.equal(one.instructions, 'Be brief.');
  const two = await t.client.responses.create({ model, input: `Second ${mark}`, previous_response_id: one.id });
  assert.equal(two.instructions, null);
  const asked = JSON.stringify((await upstreamRequests()).filter((r) => JSON.stringify(r).includes(`Second ${mark}`))[0]);
  assert.ok(asked.includes(`You said: First ${mark}`));
  assert.ok(!asked.includes('Be brief.'));
});

test('with store false, output items in the input go on in the same container', async (t) => {
  const one = await ask(t, [{ code: 'z = 9' }, { say: 'Set.' }], { store: false });
  await fails(t.client.responses.retrieve(one.id), 'NotFoundError', 404);
  const two = await t.client.responses.create({
    model, store: false, tools: [auto],
    input: [{ role: 'user', content: 'Set z.' }, ...one.output, { role: 'user', content: script({ code: 'print(z)' }, { say: '.' }) }],
  });
  assert.equal(logs(calls(two)[0]).trim(), '9');
  assert.equal(calls(two)[0].container_id, calls(one)[0].container_id);
});

test('files in the input are in the container, images too', async (t) => {
  const file = await t.client.files.create({ file: new File(['n\n1\n2\n'], 'by id.csv'), purpose: 'user_data' });
  const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
  const response = await t.client.responses.create({
    model, tools: [auto],
    input: [{
      role: 'user',
      content: [
        { type: 'input_file', file_id: file.id },
        { type: 'input_file', filename: 'inline.txt', file_data: 'data:text/plain;base64,' + Buffer.from('inline').toString('base64') },
        { type: 'input_image', image_url: pixel, detail: 'auto' },
        { type: 'input_text', text: script({ code: "import os\nprint(sorted(os.listdir('/mnt/data')))" }, { say: '.' }) },
      ],
    }],
  });
  const printed = logs(calls(response)[0]);
  assert.match(printed, /by id\.csv/);
  assert.match(printed, /inline\.txt/);
  assert.match(printed, /\.png/);
});

test('file_ids of an auto container are in it', async (t) => {
  const file = await t.client.files.create({ file: new File(['12'], 'number.txt'), purpose: 'user_data' });
  const response = await ask(t, [{ code: "print(int(open('/mnt/data/number.txt').read()) + 1)" }, { say: '.' }],
    { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [file.id], memory_limit: '4g' } }] });
  assert.equal(logs(calls(response)[0]).trim(), '13');
  assert.equal((await t.client.containers.retrieve(calls(response)[0].container_id)).memory_limit, '4g');
  await refused(ask(t, [{ code: '1' }], { tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: ['file-none'] } }] }), 400, 404);
});

test('a function of the caller in between', async (t) => {
  const steps = [
    { code: 'a = 20' }, { calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }] }, { code: 'print(a + 1)' }, { say: 'So {{last}}.' },
  ];
  const one = await ask(t, steps, { tools: [auto, weather] });
  assert.equal(one.status, 'completed');
  assert.deepEqual(one.output.map((i) => i.type), ['code_interpreter_call', 'function_call']);
  const call = one.output[1];
  assert.match(call.id, /^fc_/);
  assert.deepEqual([call.name, JSON.parse(call.arguments).city, call.status], ['get_weather', 'Oslo', 'completed']);
  const two = await t.client.responses.create({
    model, tools: [auto, weather], previous_response_id: one.id,
    input: [{ type: 'function_call_output', call_id: call.call_id, output: 'cold' }],
  });
  assert.equal(logs(calls(two)[0]).trim(), '21');
  assert.match(two.output_text, /So 21/);
});

test('two functions of the caller at once', async (t) => {
  const one = await ask(t, [{
    calls: [{ name: 'get_weather', arguments: { city: 'Oslo' } }, { name: 'get_weather', arguments: { city: 'Rome' } }],
  }, { say: 'Both.' }], { tools: [auto, weather], parallel_tool_calls: true });
  const made = one.output.filter((i) => i.type === 'function_call');
  assert.equal(new Set(made.map((i) => i.call_id)).size, 2);
  const two = await t.client.responses.create({
    model, tools: [auto, weather], previous_response_id: one.id,
    input: made.map((i) => ({ type: 'function_call_output', call_id: i.call_id, output: 'fine' })),
  });
  assert.equal(two.output_text, 'Both.');
});

test('a response is kept, shown and deleted', async (t) => {
  const made = await ask(t, [{ code: 'print(3)' }, { say: 'Three.' }], { metadata: { colour: 'blue' } });
  const { _request_id: _, ...got } = await t.client.responses.retrieve(made.id);
  const { _request_id: __, ...want } = made;
  assert.deepEqual(got, want);
  assert.deepEqual(got.metadata, { colour: 'blue' });
  assert.deepEqual(await t.client.delete(`/responses/${made.id}`), { id: made.id, object: 'response', deleted: true });
  await fails(t.client.responses.retrieve(made.id), 'NotFoundError', 404, { message: /resp_/ });
});

test('what was asked is listed', async (t) => {
  const made = await t.client.responses.create({
    model, input: [{ role: 'user', content: 'one' }, { role: 'assistant', content: 'two' }, { role: 'user', content: 'three' }],
  });
  const desc = await all(t.client.responses.inputItems.list(made.id));
  assert.deepEqual(desc.map((i) => i.content[0].text), ['three', 'two', 'one']);
  assert.equal(new Set(desc.map((i) => i.id)).size, 3);
  const asc = await all(t.client.responses.inputItems.list(made.id, { order: 'asc', limit: 2 }));
  assert.deepEqual(asc.map((i) => i.content[0].text), ['one', 'two', 'three']);
});

test('tokens are counted beforehand, roughly', async (t) => {
  const few = await t.client.responses.inputTokens.count({ model, input: 'A word or two.' });
  const many = await t.client.responses.inputTokens.count({ model, input: 'A word or two. '.repeat(1000) });
  assert.ok(few.input_tokens > 0 && many.input_tokens > 100 * few.input_tokens / 10, `${few.input_tokens}, ${many.input_tokens}`);
});

test('an item that is stored can be referred to', async (t) => {
  const one = await t.client.responses.create({ model, input: 'Remember the heron.' });
  const mark = crypto.randomUUID();
  await t.client.responses.create({ model, input: [{ type: 'item_reference', id: one.output[0].id }, { role: 'user', content: mark }] });
  const asked = (await upstreamRequests()).find((r) => JSON.stringify(r).includes(mark));
  assert.match(JSON.stringify(asked), /You said: Remember the heron/);
});

test('a schema for the answer reaches the model', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'number' } }, required: ['a'], additionalProperties: false };
  const format = { type: 'json_schema', name: 'n', strict: true, schema };
  const mark = crypto.randomUUID();
  const response = await t.client.responses.create({ model, text: { format }, input: `${mark}\n${script({ say: '{"a": 1}' })}` });
  assert.deepEqual(JSON.parse(response.output_text), { a: 1 });
  assert.equal(response.text.format.type, 'json_schema');
  const asked = (await upstreamRequests()).find((r) => JSON.stringify(r).includes(mark));
  assert.deepEqual(asked.response_format.json_schema.schema, format.schema);
});

test('background: queued, then completed', async (t) => {
  const made = await ask(t, [{ code: "import time\ntime.sleep(0.5)\nprint('slept')" }, { say: 'Slept.' }], { background: true });
  assert.ok(['queued', 'in_progress'].includes(made.status), made.status);
  assert.equal(made.background, true);
  const done = await eventually(async () => {
    const now = await t.client.responses.retrieve(made.id);
    return !['queued', 'in_progress'].includes(now.status) && now;
  }, 'the response is over');
  assert.equal(done.status, 'completed');
  assert.equal(logs(calls(done)[0]).trim(), 'slept');
});

test('a background response is cancelled, and its code ends', async (t) => {
  const made = await ask(t, [{ code: "import time\nwhile True: time.sleep(0.1)" }, { say: '.' }], { background: true });
  const running = async () => (await t.native('GET', '/runs?status=running')).data.length;
  await eventually(running, 'the code runs');
  const cancelled = await t.client.responses.cancel(made.id);
  assert.equal(cancelled.status, 'cancelled');
  await eventually(async () => await running() === 0, 'the run is over', 2);
  assert.equal((await t.client.responses.retrieve(made.id)).status, 'cancelled');
  assert.equal((await t.client.responses.cancel(made.id)).status, 'cancelled'); // once more does no harm
});

test('only what is in the background can be cancelled', async (t) => {
  const made = await t.client.responses.create({ model, input: 'x' });
  await refused(t.client.responses.cancel(made.id), 400);
  await refused(t.client.responses.cancel('resp_none'), 404);
});

test('a run that takes too long is ended and the model is told', async (t) => {
  const client = await t.strict(); // where runs may take three seconds
  const response = await client.responses.create(asking(
    [{ code: "print('began', flush=True)\nwhile True: pass" }, { code: "print('still here')" }, { say: 'Too slow.' }],
    { include: ['code_interpreter_call.outputs'] }));
  assert.equal(response.status, 'completed');
  const [slow, next] = calls(response);
  assert.match(logs(slow), /began/);
  assert.match(logs(slow), /tim|second|too long/i);
  assert.match(logs(next), /still here/);
});

test('code that takes too much memory is ended and the model is told', async (t) => {
  const response = await ask(t, [{ code: "x = 1\nhog = bytearray(3 << 30)\nfor i in range(0, 3 << 30, 4096): hog[i] = 1" },
    { code: "print('here again')" }, { say: 'Too large.' }]);
  assert.equal(response.status, 'completed');
  const [large, next] = calls(response);
  assert.match(logs(large), /memory/i);
  assert.match(logs(next), /here again/);
});

test('usage adds up', async (t) => {
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  const response = await ask(t, [{ code: 'print(1)', usage }, { say: '.', usage }]);
  assert.equal(response.usage.input_tokens, 200);
  assert.equal(response.usage.output_tokens, 20);
  assert.equal(response.usage.total_tokens, 220);
});

test('reasoning comes as an item', async (t) => {
  const response = await ask(t, [{ think: 'Let me see.', code: 'print(1)' }, { think: 'Now I know.', say: 'One.' }]);
  assert.deepEqual(response.output.map((i) => i.type), ['reasoning', 'code_interpreter_call', 'reasoning', 'message']);
  assert.match(response.output[0].id, /^rs_/);
  assert.match(JSON.stringify(response.output[0]), /Let me see/);
  const next = await t.client.responses.create({ model, input: [...response.output, { role: 'user', content: 'Go on.' }] });
  assert.equal(next.output_text, 'You said: Go on.');
});

test('a fenced block is code for a model that has no tools', async (t) => {
  const client = await t.other('fenced');
  const final = await client.responses.stream(asking([
    { say: 'I compute:\n```python\nn = 11\nprint(n * n)\n```\n' }, { code: "print('still', n)" }, { say: 'So it is {{last}}.' },
  ])).finalResponse();
  assert.deepEqual(calls(final).map((c) => [c.code.trim(), logs(c).trim()]), [['n = 11\nprint(n * n)', '121'], ["print('still', n)", 'still 11']]);
  assert.match(final.output_text, /So it is [\s\S]*still 11/);
});

test('code that is no JSON is taken as it is', async (t) => {
  const response = await ask(t, [{ calls: [{ name: 'python', arguments: "print('raw', 1 + 1)" }] }, { say: '{{last}}' }]);
  assert.equal(logs(calls(response)[0]).trim(), 'raw 2');
});

test('two calls of python at once are run one after the other', async (t) => {
  const call = (code) => ({ name: 'python', arguments: { code } });
  const response = await ask(t, [{ calls: [call('n = 1\nprint(n)'), call('n += 1\nprint(n)')] }, { say: '.' }]);
  assert.deepEqual(calls(response).map((c) => logs(c).trim()), ['1', '2']);
});

test('parameters are said back, and reach the model', async (t) => {
  const mark = crypto.randomUUID();
  const response = await t.client.responses.create({
    model, input: mark, temperature: 0.25, top_p: 0.5, max_output_tokens: 500, user: 'u', metadata: { a: 'b' }, truncation: 'auto',
    parallel_tool_calls: false, text: { format: { type: 'text' } }, instructions: 'Answer.',
  });
  assert.deepEqual([response.temperature, response.top_p, response.max_output_tokens, response.truncation, response.parallel_tool_calls],
    [0.25, 0.5, 500, 'auto', false]);
  const asked = (await upstreamRequests()).find((r) => JSON.stringify(r).includes(mark));
  assert.deepEqual([asked.temperature, asked.top_p, asked.max_tokens ?? asked.max_completion_tokens], [0.25, 0.5, 500]);
});

test('an answer that was cut is incomplete', async (t) => {
  const response = await ask(t, [{ say: 'Once upon', finish: 'length' }], { max_output_tokens: 16 });
  assert.equal(response.status, 'incomplete');
  assert.deepEqual(response.incomplete_details, { reason: 'max_output_tokens' });
  assert.equal(response.output_text, 'Once upon');
});

test('the sandbox knows nothing of the upstream key', async (t) => {
  const look = `
import os, subprocess
print(os.environ)
print(subprocess.run('env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null; ls -laR /mnt /tmp /etc 2>/dev/null | head -c 200000; '
    'grep -r upstream- /etc /mnt /tmp /home /root /run /var/tmp 2>/dev/null | head -c 10000', shell=True, capture_output=True, text=True, errors='replace').stdout)`;
  const response = await ask(t, [{ code: look }, { say: '.' }]);
  const printed = logs(calls(response)[0]);
  assert.ok(printed.length > 200);
  assert.ok(!printed.includes(env.secret));
  for (const path of ['/runs', '/sessions', '/workspaces']) assert.ok(!JSON.stringify(await t.native('GET', path)).includes(env.secret));
});
