// Holds what the server answers against the schemas that `setup` made of the types of a client.
//
//     const schemas = new Schemas('openai7')
//     schemas.answer('GET', '/v1/containers', 200, body)     what is wrong with it, as a list of texts
//     schemas.event('/v1/responses', data)                   the same of an event of a stream
//
// With $OPENAI_OPENAPI, the path of the published description as JSON, everything is held against that, too.
import fs from 'node:fs';
import { Ajv } from 'ajv';

const list = (items, ids = true) => ({
  type: 'object',
  required: ids ? ['object', 'data', 'first_id', 'last_id', 'has_more'] : ['object', 'data'],
  properties: {
    object: { const: 'list' }, data: { type: 'array', items }, has_more: { type: 'boolean' },
    first_id: { type: ['string', 'null'] }, last_id: { type: ['string', 'null'] },
  },
});
const deleted = (object) => ({
  type: 'object', required: ['id', 'object', 'deleted'],
  properties: { id: { type: 'string' }, object: { const: object }, deleted: { const: true } },
});
const text = { type: 'string', minLength: 1 };
const maybe = { type: ['string', 'null'] };
export const errorSchema = {
  type: 'object', required: ['error'],
  properties: {
    error: {
      type: 'object', required: ['message', 'type', 'param', 'code'],
      properties: { message: text, type: text, param: maybe, code: maybe },
    },
  },
};

// Method and address: the name of the schema (generate.mjs), or of the items of a list, or a schema; then its
// name in the published description.
const answers = [
  ['POST', 'containers', 'ContainerCreated', 'ContainerResource'],
  ['GET', 'containers', ['ContainerListed'], 'ContainerListResource'],
  ['GET', 'containers/*', 'Container', 'ContainerResource'],
  ['DELETE', 'containers/*', deleted('container.deleted')],
  ['POST', 'containers/*/files', 'ContainerFileCreated', 'ContainerFileResource'],
  ['GET', 'containers/*/files', ['ContainerFileListed'], 'ContainerFileListResource'],
  ['GET', 'containers/*/files/*', 'ContainerFile', 'ContainerFileResource'],
  ['DELETE', 'containers/*/files/*', deleted('container.file.deleted')],
  ['POST', 'files', 'File', 'OpenAIFile'],
  ['GET', 'files', ['File'], 'ListFilesResponse'],
  ['GET', 'files/*', 'File', 'OpenAIFile'],
  ['DELETE', 'files/*', 'FileDeleted', 'DeleteFileResponse'],
  ['POST', 'uploads', 'Upload', 'Upload'],
  ['POST', 'uploads/*/parts', 'UploadPart', 'UploadPart'],
  ['POST', 'uploads/*/complete', 'Upload', 'Upload'],
  ['POST', 'uploads/*/cancel', 'Upload', 'Upload'],
  ['GET', 'models', { models: true }, 'ListModelsResponse'],
  ['GET', 'models/*', 'Model', 'Model'],
  ['POST', 'responses', 'Response', 'Response'],
  ['GET', 'responses/*', 'Response', 'Response'],
  ['DELETE', 'responses/*', deleted('response')],
  ['POST', 'responses/input_tokens', 'InputTokens', 'TokenCountsResource'],
  ['POST', 'responses/*/cancel', 'Response', 'Response'],
  ['GET', 'responses/*/input_items', 'ResponseItemList', 'ResponseItemList'],
  ['POST', 'conversations', 'Conversation', 'ConversationResource'],
  ['GET', 'conversations/*', 'Conversation', 'ConversationResource'],
  ['POST', 'conversations/*', 'Conversation', 'ConversationResource'],
  ['DELETE', 'conversations/*', 'ConversationDeleted', 'DeletedConversationResource'],
  ['POST', 'conversations/*/items', 'ConversationItemList', 'ConversationItemList'],
  ['GET', 'conversations/*/items', 'ConversationItemList', 'ConversationItemList'],
  ['GET', 'conversations/*/items/*', 'ConversationItem', 'ConversationItem'],
  ['DELETE', 'conversations/*/items/*', 'Conversation', 'ConversationResource'],
  ['POST', 'chat/completions', 'Completion', 'CreateChatCompletionResponse'],
].map(([method, path, ...names]) => [method, new RegExp('^' + path.replaceAll('*', '[^/]+') + '$'), ...names]);

const inner = (path) => path.replace(/^(\/openai)?\/v1\//, '');

// Numbers that count something: the types of a client know only "number".
const whole = /(^bytes|_at|_index|_tokens|sequence_number|minutes|seconds)$/;
function* unwhole(value, at = '') {
  if (!value || typeof value !== 'object') return;
  for (const [key, one] of Object.entries(value)) {
    if (typeof one === 'number' && whole.test(key) && !Number.isInteger(one)) yield `${at}/${key} is ${one}, no integer`;
    yield* unwhole(one, `${at}/${key}`);
  }
}

// The API itself sends null for what is not there, where its description says only that it may be missing. (One kind of several
// may then be like another, so that "exactly one of" becomes "any of".)
function allowNull(schema) {
  if (!schema || typeof schema !== 'object') return schema;
  if (Array.isArray(schema)) return schema.map(allowNull);
  const { nullable, ...rest } = schema;
  if (nullable) return { anyOf: [allowNull(rest), { type: 'null' }] };
  const made = Object.fromEntries(Object.entries(schema).map(([key, one]) => [key === 'oneOf' ? 'anyOf' : key,
    key === 'properties' ? one : allowNull(one)]));
  if (schema.properties && typeof schema.properties === 'object') {
    made.properties = Object.fromEntries(Object.entries(schema.properties).map(([key, one]) => [key,
      (schema.required ?? []).includes(key) ? allowNull(one) : { anyOf: [allowNull(one), { type: 'null' }] }]));
  }
  return made;
}

const valueAt = (value, pointer) => pointer.split('/').slice(1).reduce((one, key) => one?.[key.replaceAll('~1', '/')], value);

// What is wrong. Of a union every branch complains: those that are of another type than the value are left out.
function told(validate, value, where) {
  if (validate(value)) return [];
  const fits = (e) => {
    const type = e.parentSchema.properties?.type;
    const allowed = type?.const ? [type.const] : type?.enum;
    return !allowed || allowed.includes(valueAt(value, e.instancePath)?.type);
  };
  const errors = validate.errors.filter((e) => e.keyword !== 'anyOf' && !e.instancePath.endsWith('/type') && fits(e));
  const shown = errors.length ? errors : validate.errors;
  shown.sort((x, y) => y.instancePath.length - x.instancePath.length);
  return shown.slice(0, 4).map((e) => `${where} ${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`);
}

const options = { strict: false, allErrors: true, validateFormats: false, verbose: true };

export class Schemas {
  #compiled = new Map();
  #published = null;

  constructor(name) {
    this.ajv = new Ajv(options);
    this.name = name;
    const all = JSON.parse(fs.readFileSync(new URL(`../${name}.json`, import.meta.url)));
    for (const [key, schema] of Object.entries(all)) {
      // The client computes it; it is not on the wire.
      for (const one of Object.values(schema.definitions))
        if (one.required) one.required = one.required.filter((field) => field !== 'output_text');
      this.ajv.addSchema(allowNull({ ...schema, $id: key, $schema: undefined }));
    }
    this.kinds = this.#kinds(all.ResponseEvent);
    if (process.env.OPENAI_OPENAPI) {
      const document = JSON.parse(fs.readFileSync(process.env.OPENAI_OPENAPI));
      this.#published = new Ajv(options);
      this.#published.addSchema({ $id: 'published', components: { schemas: allowNull(document.components.schemas) } });
    }
    this.#warm();
  }

  // Compiling takes a second or two; that is not to happen while something is timed.
  #warm() {
    this.event('/v1/chat/completions', {});
    for (const name of ['created', 'in_progress', 'output_item.added', 'output_item.done', 'completed', 'failed'])
      this.event('/v1/responses', { type: `response.${name}` });
    this.answer('POST', '/v1/responses', 200, {});
  }

  #kinds({ definitions }) {
    const kinds = new Map();
    for (const [name, one] of Object.entries(definitions))
      if (one.properties?.sequence_number && one.properties?.type?.const) kinds.set(one.properties.type.const, name);
    return kinds;
  }

  #validator(key, schema, ajv = this.ajv) {
    if (!this.#compiled.has(key)) this.#compiled.set(key, ajv.compile(schema));
    return this.#compiled.get(key);
  }

  #described(name, value, where) {
    if (!this.#published || !name) return [];
    const validate = this.#validator('published ' + name, { $ref: `published#/components/schemas/${name}` }, this.#published);
    return told(validate, value, where + ' (published)');
  }

  answer(method, path, status, body) {
    const where = `${method} ${path} ${status}`;
    if (status >= 400) return told(this.#validator('error', errorSchema), body, where);
    const found = answers.find(([m, pattern]) => m === method && pattern.test(inner(path)));
    if (!found) return [`${where} answered, but there is no schema for it`];
    const [, , kind, published] = found;
    const schema = typeof kind === 'string' ? { $ref: kind }
      : Array.isArray(kind) ? list({ $ref: kind[0] })
        : kind.models ? list({ $ref: 'Model' }, false) : kind;
    const shown = emptyIds(body);
    return [...told(this.#validator(JSON.stringify(schema), schema), shown, where), ...this.#described(published, shown, where),
      ...unwhole(body)].map((one) => one.slice(0, 600));
  }

  event(path, event) {
    if (inner(path).startsWith('chat/')) {
      return [...told(this.#validator('chunk', { $ref: 'CompletionChunk' }), event, 'chunk'),
        ...this.#described('CreateChatCompletionStreamResponse', event, 'chunk')];
    }
    if (event.type === 'error') {
      const schema = this.ajv.getSchema(`ResponseEvent#/definitions/${this.kinds.get('error')}`);
      return [...told(schema, event, 'event error'), ...told(this.#validator('error', errorSchema), event, 'event error')];
    }
    const name = this.kinds.get(event.type);
    if (!name) return [`${this.name} knows no event ${event.type}`];
    const schema = this.ajv.getSchema(`ResponseEvent#/definitions/${name}`);
    return [...told(schema, event, `event ${event.type}`), ...this.#described(name, event, `event ${event.type}`),
      ...unwhole(event)].map((one) => one.slice(0, 600));
  }
}

// An empty list has no first and no last element; the description wants texts all the same.
const emptyIds = (body) => (body?.data?.length === 0 ? { ...body, first_id: '', last_id: '' } : body);
