// Makes JSON schemas of the types that a client publishes for what the API answers: generate.mjs PACKAGE FILE
//
// The types of both generations are made from the published description of the API, so that what they require
// and allow is what it does. Fields that they do not know are allowed: extensions live there.
import fs from 'node:fs';
import { createGenerator } from 'ts-json-schema-generator';

// Name here: module of the package, name there.
const types = {
  Response: ['responses/responses', 'Response'],
  ResponseEvent: ['responses/responses', 'ResponseStreamEvent'],
  ResponseItemList: ['responses/responses', 'ResponseItemList'],
  InputTokens: ['responses/input-tokens', 'InputTokenCountResponse'],
  Container: ['containers/containers', 'ContainerRetrieveResponse'],
  ContainerCreated: ['containers/containers', 'ContainerCreateResponse'],
  ContainerListed: ['containers/containers', 'ContainerListResponse'],
  ContainerFile: ['containers/files/files', 'FileRetrieveResponse'],
  ContainerFileCreated: ['containers/files/files', 'FileCreateResponse'],
  ContainerFileListed: ['containers/files/files', 'FileListResponse'],
  File: ['files', 'FileObject'],
  FileDeleted: ['files', 'FileDeleted'],
  Upload: ['uploads/uploads', 'Upload'],
  UploadPart: ['uploads/parts', 'UploadPart'],
  Model: ['models', 'Model'],
  Completion: ['chat/completions/completions', 'ChatCompletion'],
  CompletionChunk: ['chat/completions/completions', 'ChatCompletionChunk'],
  Conversation: ['conversations/conversations', 'Conversation'],
  ConversationDeleted: ['conversations/conversations', 'ConversationDeletedResource'],
  ConversationItem: ['conversations/items', 'ConversationItem'],
  ConversationItemList: ['conversations/items', 'ConversationItemList'],
};

const [package_, file] = process.argv.slice(2);
const source = file.replace(/json$/, 'ts');
fs.writeFileSync(source, Object.entries(types).map(([name, [module, there]]) =>
  `import type { ${there} as ${name}_ } from '${package_}/resources/${module}';\nexport type oa_${name} = ${name}_;\n`).join(''));
const generator = createGenerator({
  path: source, skipTypeCheck: true, additionalProperties: true, jsDoc: 'none', expose: 'export', topRef: true,
});
const all = {};
for (const name of Object.keys(types)) all[name] = generator.createSchema(`oa_${name}`);
fs.writeFileSync(file, JSON.stringify(all));
