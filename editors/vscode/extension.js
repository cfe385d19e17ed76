// Starts `krm lsp`, and lets VS Code talk to it.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

async function start() {
  const settings = vscode.workspace.getConfiguration('krm');
  const command = settings.get('path') || 'krm';
  const server = { command, args: ['lsp'] };
  const options = {
    documentSelector: [{ scheme: 'file', language: 'yaml' }],
    initializationOptions: {
      codeLens: settings.get('codeLens') === true,
      inlayHints: settings.get('inlayHints') === true,
    },
    middleware: { executeCommand },
  };
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

// The server's commands only return text, so whoever starts `krm.preview`, such as a code lens, gets to see it here.
async function executeCommand(command, args, next) {
  if (command !== 'krm.preview') return next(command, args);
  try {
    const content = await next(command, args);
    if (typeof content !== 'string') throw new Error('there is no kustomization around this file');
    const document = await vscode.workspace.openTextDocument({ language: 'yaml', content });
    await vscode.window.showTextDocument(document, { viewColumn: vscode.ViewColumn.Beside, preview: true });
    return content;
  } catch (error) {
    vscode.window.showErrorMessage(`krm: ${error.message}`);
    return undefined;
  }
}

// Shows what the kustomization around the open file builds to, including changes that are not saved.
async function showResult() {
  const open = vscode.window.activeTextEditor;
  if (!client || !open) return;
  await vscode.commands.executeCommand('krm.preview', open.document.uri.toString());
}

exports.activate = async (context) => {
  const restart = async () => { await stop(); await start(); };
  context.subscriptions.push(
    vscode.commands.registerCommand('krm.restart', restart),
    vscode.commands.registerCommand('krm.showResult', showResult),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('krm')) restart();
    }),
  );
  await start();
};

exports.deactivate = stop;
