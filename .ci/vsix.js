// Loads an unpacked extension as VS Code would, with a stand-in for the editor: everything it requires must be in the package.
'use strict';

const assert = require('node:assert');
const Module = require('node:module');
const path = require('node:path');

const folder = path.resolve(process.argv[2]);
// Whatever a library asks of the editor while it is loaded: classes to extend, numbers, events.
const anything = new Proxy(class {}, { get: (target, key) => (key in target ? target[key] : anything) });
const load = Module._load;
Module._load = (request, parent, ...rest) => {
  if (request === 'vscode') return new Proxy({}, { get: (_, key) => (key === 'version' ? '1.91.0' : anything) });
  const file = Module._resolveFilename(request, parent);
  assert(!path.isAbsolute(file) || file.startsWith(folder), `${request} is not in the package but at ${file}`);
  return load(request, parent, ...rest);
};

const manifest = require(path.join(folder, 'package.json'));
const extension = require(path.join(folder, manifest.main));
assert.deepStrictEqual(Object.keys(extension).sort(), ['activate', 'deactivate']);
