// Looks at a page that is served: `node served.js ADDRESS KUSTOMIZATION`. The file is changed, broken and mended.
'use strict';
const { chromium } = require('playwright-core');
const { writeFileSync } = require('fs');

const [address, file] = process.argv.slice(2);
const write = (prefix, resources = 'web.yaml') => writeFileSync(file, `namePrefix: ${prefix}\nresources: [${resources}]\n`);

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const faults = [];
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`); });
  page.on('pageerror', (error) => faults.push(error.stack));
  await page.goto(address);
  await page.waitForSelector('html[data-ready]', { state: 'attached' });
  const shows = async (there, gone, what) => {
    try {
      await page.waitForFunction(([there, gone]) => {
        const text = document.body.innerText;
        return there.every((word) => text.includes(word)) && !gone.some((word) => text.includes(word));
      }, [there, gone], { timeout: 20000 });
    } catch {
      faults.push(`${what}: ${await page.evaluate(() => document.body.innerText)}`);
    }
  };
  await shows(['a-web'], [], 'at first');
  write('b-');
  await shows(['b-web'], ['a-web'], 'after a change');
  write('b-', 'web.yaml, missing.yaml');
  await shows(['missing.yaml', 'b-web'], [], 'an error over the last good result');
  write('c-');
  await shows(['c-web'], ['missing.yaml', 'b-web'], 'mended');
  // Pages of others may not read it.
  const other = await browser.newPage();
  const answer = await other.goto(new URL('/', address).href);
  if (answer.status() !== 403) faults.push(`without the token: ${answer.status()}`);
  const stolen = await other.evaluate((address) => fetch(address).then(() => 'read', () => 'refused'), address.replace('127.0.0.1', 'localhost'));
  if (stolen !== 'refused') faults.push(`from another origin: ${stolen}`);
  await browser.close();
  if (faults.length > 0) {
    console.log(faults.join('\n'));
    process.exitCode = 1;
  }
})();
