// Starts `krm lsp`, and lets VS Code talk to it.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function start() {
  const command = vscode.workspace.getConfiguration('krm').get('path') || 'krm';
  const server = { command, args: ['lsp'] };
  const options = { documentSelector: [{ scheme: 'file', language: 'yaml' }] };
  client = new LanguageClient('krm', 'krm', server, options);
  try {
    await client.start();
  } catch (error) {
    const choice = await vscode.window.showErrorMessage(
      `krm cannot be started as \`${command}\`: ${error.message}. Install it, or say in the settings where it is.`,
      'Open settings',
    );
    if (choice) vscode.commands.executeCommand('workbench.action.openSettings', 'krm.path');
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) await running.stop();
}

exports.activate = async (context) => {
  const restart = async () => { await stop(); await start(); };
  context.subscriptions.push(
    vscode.commands.registerCommand('krm.restart', restart),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('krm.path')) restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
