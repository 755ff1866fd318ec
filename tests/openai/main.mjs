// Runs all tests, or those whose name contains a text, with one generation of the client: main.mjs 6|7 [TEXT]
import { runAll } from './kit.mjs';
import './transport.mjs';
import './containers.mjs';
import './files.mjs';
import './responses.mjs';
import './errors.mjs';
import './streams.mjs';
import './together.mjs';
import './conversations.mjs';
import './chat.mjs';

await runAll(process.argv[2], process.argv[3]);
process.exit(0);
