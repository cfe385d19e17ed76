// The playground in a real browser: node try.mjs SITE [PICTURES]
//
// SITE is the folder of the playground with the engine in it. Needs playwright-core, axe-core and a Chromium.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import zlib from 'node:zlib';

const require = createRequire(path.join(process.env.KRM_NODE_MODULES ?? process.cwd(), 'x.js'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const [site, pictures] = process.argv.slice(2);

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm' };
const server = http.createServer((request, response) => {
  const name = new URL(request.url, 'http://x').pathname.replace(/\/$/, '/index.html');
  const file = path.join(site, path.normalize(name));
  if (!fs.existsSync(file)) return response.writeHead(404).end();
  response.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'text/plain' });
  fs.createReadStream(file).pipe(response);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const address = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

async function open(options = {}, hash = '') {
  const context = await browser.newContext({ viewport: { width: 1400, height: 850 }, ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on('console', (message) => message.type() === 'error' && page.wrong.push(message.text()));
  page.on('pageerror', (error) => page.wrong.push(String(error)));
  page.on('request', (request) => !request.url().startsWith(address) && !request.url().startsWith('data:') && page.wrong.push(request.url()));
  await page.goto(address + hash);
  await page.waitForSelector('html[data-ready]');
  return page;
}
const picture = async (page, name) => pictures && page.screenshot({ path: path.join(pictures, `${name}.png`) });
const output = (page) => page.locator('#output').innerText();
async function close(page) {
  assert.deepEqual(page.wrong, []);
  await page.context().close();
}

// What a visitor downloads.
const sent = zlib.gzipSync(fs.readFileSync(path.join(site, 'krm.wasm')), { level: 9 }).length;
console.log(`the engine is sent as ${(sent / 1e6).toFixed(2)} MB`);
assert.ok(sent < 2e6);

// Live as you type; errors with carets; the last good result stays.
let page = await open();
console.log(`ready after ${await page.getAttribute('html', 'data-ready')} ms`);
assert.match(await output(page), /name: prod-web/);
const text = await page.inputValue('#text');
const times = [];
for (let count = 1; count <= 10; count++) {
  await page.fill('#text', text.replace('count: 5', `count: ${count}`));
  times.push(Number(/([\d.]+) ms/.exec(await page.innerText('#status'))[1]));
}
console.log(`a build takes ${Math.min(...times)} ms, the first ${times[0]}`);
assert.ok(Math.min(...times) < 50);
await page.fill('#text', text.replace('namePrefix: prod-', 'namePrefix: live-'));
assert.match(await output(page), /name: live-web/);
await page.fill('#text', text.replace('namePrefix:', 'nameprfix:'));
assert.match(await page.innerText('#problems'), /\^\^\^/);
assert.match(await output(page), /name: live-web/);
await picture(page, 'error');
await page.fill('#text', text);
assert.equal(await page.innerText('#problems'), '');

// A value's history, by mouse and by keyboard, and the way to its source.
await page.getByText('replicas: 5').click();
assert.match(await page.innerText('#history'), /overlays\/production\/kustomization.yaml:7/);
await picture(page, 'history');
await page.focus('#output');
await page.keyboard.press('ArrowDown');
assert.match(await page.innerText('#history'), /spec.selector/);
await page.getByText('replicas: 5').click();
await page.getByRole('button', { name: 'base/web.yaml:6' }).click();
assert.equal(await page.getAttribute('#tree li[aria-selected=true]', 'data-path'), 'base/web.yaml');
assert.equal(await page.evaluate(() => document.activeElement.id), 'text');

// Every example builds; the link carries what was typed.
for (const name of await page.locator('#examples option').evaluateAll((all) => all.map((option) => option.value))) {
  await page.selectOption('#examples', name);
  assert.equal(await page.innerText('#problems'), '', name);
  assert.match(await page.innerText('#status'), /Built/);
}
await page.selectOption('#examples', 'composition');
assert.match(await output(page), /name: staging-web/);
await page.selectOption('#examples', 'patch');
await page.locator('#tree li', { hasText: 'production/resources.yaml' }).click();
await page.fill('#text', (await page.inputValue('#text')).replace('512Mi', '1Gi'));
await page.click('#share');
await page.waitForFunction(() => location.hash.length > 10);
const hash = new URL(page.url()).hash;
await close(page);
page = await open({}, hash);
assert.match(await output(page), /memory: 1Gi/);
await close(page);
for (const bad of ['#AAAA', '#%F0', '#e30']) {
  page = await open({}, bad);
  assert.match(await output(page), /prod-web/, 'a broken link shows the first example');
  await close(page);
}

// Names that a page must not obey.
page = await open();
await page.evaluate(() => { window.prompt = () => 'base/<img src=x onerror=document.title="owned">.yaml'; });
await page.click('#add');
await page.fill('#text', 'kind: "<script>document.title=1</script>"\n');
assert.equal(await page.title(), 'Try krm');
await close(page);

// Light and dark, wide and narrow: nothing that axe finds, nothing wider than the window.
for (const colorScheme of ['light', 'dark']) {
  for (const [name, viewport] of [['wide', { width: 1400, height: 850 }], ['phone', { width: 360, height: 740 }]]) {
    page = await open({ colorScheme, viewport });
    await page.getByText('replicas: 5').click();
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run());
    assert.deepEqual(violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' ')}`), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} scrolls sideways`);
    await picture(page, `${colorScheme}-${name}`);
    await close(page);
  }
}
await browser.close();
server.close();
console.log('the playground works');
