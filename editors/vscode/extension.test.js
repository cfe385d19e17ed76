// Tries the extension with stand-ins for VS Code and the language client: `node --test`.
'use strict';

const assert = require('node:assert');
const Module = require('node:module');
const test = require('node:test');

const shown = [];
const errors = [];
const commands = {};
let options;

const vscode = {
  ViewColumn: { Beside: -2 },
  commands: {
    registerCommand: (name, run) => { commands[name] = run; return { dispose() {} }; },
    executeCommand: (name, ...args) => commands[name](...args),
  },
  window: {
    activeTextEditor: { document: { uri: 'file:///shop/kustomization.yaml' } },
    showErrorMessage: async (message) => { errors.push(message); },
    showTextDocument: async (document) => { shown.push(document.content); },
  },
  workspace: {
    getConfiguration: () => ({ get: (name) => ({ path: '/opt/krm', codeLens: true })[name] }),
    onDidChangeConfiguration: () => ({ dispose() {} }),
    openTextDocument: async (document) => document,
  },
};

class LanguageClient {
  constructor(_id, _name, server, given) {
    assert.deepStrictEqual(server, { command: '/opt/krm', args: ['lsp'] });
    options = given;
  }

  async start() {
    // As the real client does for the commands that a server offers.
    const ask = async (_command, [uri]) => (uri.startsWith('file:///shop/') ? 'kind: Service\n' : null);
    for (const name of ['krm.preview', 'krm.explain']) {
      vscode.commands.registerCommand(name, (...args) => options.middleware.executeCommand(name, args, ask));
    }
  }

  needsStop() { return false; }
}

const load = Module._load;
Module._load = (request, ...rest) => ({
  vscode,
  'vscode-languageclient/node': { LanguageClient },
})[request] || load(request, ...rest);

test('the result of a build is shown, whatever asks for it', async () => {
  await require('./extension.js').activate({ subscriptions: [] });
  assert.deepStrictEqual(options.initializationOptions, { codeLens: true, inlayHints: false });
  await commands['krm.preview']('file:///shop/base/kustomization.yaml');
  assert.deepStrictEqual(shown, ['kind: Service\n']);
  await commands['krm.showResult']();
  assert.strictEqual(shown.length, 2);
  await commands['krm.preview']('file:///elsewhere/notes.yaml');
  assert.deepStrictEqual(errors, ['krm: there is no kustomization around this file']);
  assert.strictEqual(await commands['krm.explain']('file:///shop/base/web.yaml'), 'kind: Service\n');
  assert.strictEqual(shown.length, 2);
});
