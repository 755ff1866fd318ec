/* javascript.c -- how Node runs a piece of code that is in no file.
 *
 * It is given to Node as the text of -e, with the name of the code as its argument, and the code
 * itself at PROCESS_CODE_FD. The code finds what it would find as a file of that name in the current
 * directory: require and import of the files beside it, __filename, process.argv, and its name in
 * stack traces. Code that is no CommonJS, because of an import, an export or an await at the top, runs as
 * a module, as newer versions of Node do by themselves; it has require, too.
 */
#include "kernel/language_int.h"

/* clang-format off */
const char javascript_start[] =
    "'use strict';\n"
    "const fs = require('fs'), path = require('path'), vm = require('vm');\n"
    "const Module = require('module'), {pathToFileURL} = require('url');\n"
    "const code = fs.readFileSync(9, 'utf8');\n"
    "fs.closeSync(9);\n"
    "const file = path.resolve(process.argv[1]);\n"
    "process.argv[1] = file;\n"
    "process.execArgv = [];\n"
    "for (const name of ['require', 'module', 'exports', '__filename', '__dirname'])\n"
    "  delete globalThis[name];\n"
    "function asScript() {\n"
    "  const main = new Module('.', null);\n"
    "  main.filename = file;\n"
    "  main.paths = Module._nodeModulePaths(path.dirname(file));\n"
    "  process.mainModule = main;\n"
    "  main._compile(code, file);\n"
    "  main.loaded = true;\n"
    "}\n"
    "const url = pathToFileURL(file);\n"
    "const load = name => import(/^\\.{0,2}\\//.test(name) ? new URL(name, url) : name);\n"
    "async function link(name) {\n"
    "  const found = await load(name), keys = Object.keys(found);\n"
    "  return new vm.SyntheticModule(keys, function () {\n"
    "    for (const key of keys) this.setExport(key, found[key]);\n"
    "  });\n"
    "}\n"
    "function describe(meta) {\n"
    "  Object.assign(meta, {url: url.href, filename: file, dirname: path.dirname(file)});\n"
    "}\n"
    "const settings = {identifier: file, initializeImportMeta: describe, importModuleDynamically: load};\n"
    "const warn = process.emitWarning;\n"
    "function asModule() {\n"
    "  process.emitWarning = () => {};\n" /* that vm.SourceTextModule is experimental */
    "  try { return new vm.SourceTextModule(code, settings); } finally { process.emitWarning = warn; }\n"
    "}\n"
    "async function runModule(main) {\n"
    "  globalThis.require = Module.createRequire(file);\n"
    "  await main.link(link);\n"
    "  await main.evaluate();\n"
    "}\n"
    "function faultOf(make) {\n"
    "  try { make(); } catch (error) { return error; }\n"
    "}\n"
    "const names = ['exports', 'require', 'module', '__filename', '__dirname'];\n"
    "const fault = faultOf(() => vm.compileFunction(code, names, {filename: file}));\n"
    "const isModule = fault && (!faultOf(asModule) || /\\b(import|export)\\b/.test(fault.message));\n"
    "if (isModule) runModule(asModule()); else asScript();\n";
/* clang-format on */
