// Looks at pages in Chromium: `node check.js FOLDER`. Prints every fault, and ends with 1 if there are any.
'use strict';
const { chromium } = require('playwright-core');
const { readFileSync } = require('fs');
const { join } = require('path');
const { pathToFileURL } = require('url');

const folder = process.argv[2];
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const faults = [];
const check = (good, what) => { if (!good) faults.push(what); };

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });

  /** Opens a page, and keeps an eye on what it says and asks for. */
  const open = async (name, { hash = '', ready = true, width = 1280, height = 800, ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width, height }, ...options });
    const page = await context.newPage();
    const own = pathToFileURL(join(folder, name)).href;
    page.on('console', (message) => check(!['error', 'warning'].includes(message.type()), `${name}: console: ${message.text()}`));
    page.on('pageerror', (error) => faults.push(`${name}: ${error.stack}`));
    page.on('dialog', (dialog) => { faults.push(`${name}: dialog ${dialog.message()}`); dialog.dismiss(); });
    page.on('request', (request) => check(request.url().split('#')[0] === own, `${name}: asks for ${request.url()}`));
    await page.goto(own + hash);
    if (ready) await page.waitForSelector('html[data-ready]', { state: 'attached', timeout: 20000 });
    return page;
  };
  const accessible = async (page, what) => {
    // The policy of the page does not let it in; the tool of the browser does.
    const session = await page.context().newCDPSession(page);
    const run = async (expression) => (await session.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result.value;
    await run(axe);
    const found = JSON.parse(await run(`axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) =>
      JSON.stringify(violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.slice(0, 3).map((node) => node.html + ' ' + node.failureSummary) }))))`));
    for (const { id, help, nodes } of found) faults.push(`${what}: axe ${id}: ${help}\n    ${nodes.join('\n    ')}`);
  };
  const fits = async (page, what) => {
    const [wanted, there] = await page.evaluate(() => [document.scrollingElement.scrollWidth, innerWidth]);
    check(wanted <= there, `${what}: is ${wanted} wide where there are ${there}`);
  };
  const title = (page) => page.textContent('#history h2');
  const step = (page) => page.textContent('#step-title');

  // For everyone, in light and dark, wide and narrow, and with colours of one's own.
  for (const [what, options] of Object.entries({
    light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, forced: { forcedColors: 'active' },
    phone: { colorScheme: 'light', width: 360, height: 740 }, 'dark phone': { colorScheme: 'dark', width: 360, height: 740 },
    zoomed: { width: 320, height: 256 }, wide: { width: 2560, height: 1300 },
  })) {
    const page = await open('example.html', options);
    await accessible(page, `${what}, result`);
    await fits(page, `${what}, result`);
    await page.evaluate(() => { location.hash = '#step=overlays%2Fproduction%23images%5B0%5D'; });
    await page.waitForFunction(() => document.querySelector('#step-title').textContent === 'images[0]');
    await page.locator('.yaml > div.add').first().click();
    await accessible(page, `${what}, a field`);
    await fits(page, `${what}, a field`);
    if (await page.locator('#tab-graph').isVisible()) {
      await page.click('#tab-graph');
      await accessible(page, `${what}, steps`);
      await fits(page, `${what}, steps`);
    }
    if (what === 'light') {
      await page.fill('.find', 'web');
      await accessible(page, 'found');
      await page.fill('.find', '');
      await page.keyboard.press('Escape');
      await page.click('[aria-label="Help"]');
      await accessible(page, 'help');
    }
    await page.context().close();
  }

  // Pages without script: the same for all, whatever names would like to be.
  for (const name of ['diff.html', 'layers.html', 'hostile-diff.html']) {
    for (const [what, options] of Object.entries({
      light: { colorScheme: 'light' }, dark: { colorScheme: 'dark' }, phone: { width: 360, height: 740 },
      'no script': { javaScriptEnabled: false }, wide: { width: 2560, height: 1300 },
    })) {
      const page = await open(name, { ready: false, ...options });
      if (what !== 'no script') {
        await accessible(page, `${name}, ${what}`);
        await fits(page, `${name}, ${what}`);
        const tall = await page.evaluate(() => [...document.querySelectorAll('.fields a')].filter((a) => a.getBoundingClientRect().height > 160).length);
        check(tall === 0, `${name}, ${what}: ${tall} links are a column of letters`);
        const cut = await page.evaluate(() => [...document.querySelectorAll('.row .at')].filter((at) => at.scrollWidth > at.clientWidth + 1).length);
        check(cut === 0, `${name}, ${what}: ${cut} numbers of lines are cut`);
        check(!(await page.evaluate(() => 'hacked' in window)), `${name}: a name ran`);
      }
      check((await page.locator('main').textContent()).length > 200, `${name}, ${what}: says little`);
      if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}-${what}.png`), fullPage: true });
      await page.context().close();
    }
    const page = await open(name, { ready: false });
    await page.keyboard.press('Tab');
    check((await page.evaluate(() => document.activeElement.className)) === 'skip', `${name}: the first stop is not the link to skip`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    check(/#[a-z]+\d*$/.test(page.url()), `${name}: a row leads nowhere: ${page.url()}`);
    await page.context().close();
  }

  // By keyboard alone.
  {
    const page = await open('example.html');
    const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
    await press('Tab');
    const first = await page.evaluate(() => document.activeElement.outerHTML.slice(0, 120));
    check(first.includes('skip'), `keyboard: the first stop skips to the resources, not ${first}`);
    await press('/');
    await page.keyboard.type('web:1.4.2');
    await press('Enter');
    check(/\.image$/.test(await title(page)), `keyboard: what was found is shown: ${await title(page)}`);
    check(await page.evaluate(() => document.activeElement.getAttribute('role')) === 'option', 'keyboard: what was found has the focus');
    const image = await title(page);
    await press('ArrowDown');
    check(await title(page) !== image, 'keyboard: the next line shows its history');
    await press('ArrowUp');
    check(await title(page) === image, 'keyboard: and the one before');
    await press('Escape', 'Escape');
    check(await page.textContent('#history h2') === 'Where the result comes from', 'keyboard: back to the overview');
    await press('[');
    check(await step(page) === 'name references', `keyboard: the step before: ${await step(page)}`);
    await press(']');
    check(await step(page) === 'Result', 'keyboard: the step after');
    await page.focus('#graph [aria-current]');
    await press('Home');
    check(await step(page) === 'resources', `keyboard: the first step: ${await step(page)}`);
    await press('ArrowDown');
    check(await step(page) === 'configMapGenerator[0]', 'keyboard: down the steps');
    await page.focus('.bars input');
    await press('End');
    check(await step(page) === 'Result', 'keyboard: the slider');
    await press('?');
    check(await page.locator('dialog[open]').count() === 1, 'keyboard: help opens');
    await press('Escape');
    check(await page.locator('dialog[open]').count() === 0, 'keyboard: help closes');
    // Everything that can be reached shows that it is.
    const stops = new Set();
    for (let at = 0; at < 60; at++) {
      await press('Tab');
      const stop = await page.evaluate(() => {
        const element = document.activeElement;
        if (element === document.body) return null;
        const shown = [element, element.parentElement].some((one) => getComputedStyle(one).outlineStyle !== 'none');
        return { what: `${element.tagName} ${element.className} ${element.getAttribute('aria-label') || ''}`, shown };
      });
      if (!stop) continue;
      stops.add(stop.what);
      check(stop.shown, `keyboard: the focus is not seen on ${stop.what}`);
    }
    check(stops.size > 6, `keyboard: few stops: ${[...stops]}`);
    await page.context().close();
  }

  // Links lead to the same again, and back leads back.
  {
    const hash = '#step=regions%2Feurope%23images%5B0%5D&resource=Deployment%2Fshop%2Fprod-web&field=spec.template.spec.containers%5Bname%3Dweb%5D.image';
    const page = await open('example.html', { hash });
    check(await step(page) === 'images[0]', `link: the step is ${await step(page)}`);
    check(await title(page) === 'spec.template.spec.containers[name=web].image', `link: the field is ${await title(page)}`);
    check(await page.locator('.yaml [aria-selected="true"]').count() === 2, 'link: the lines are marked');
    const labels = await page.locator('#history > .events > li > .body > .ev-head > a').allTextContents();
    check(labels.join() === 'written,images[0].newName,images[0].newTag', `history: ${labels}`);
    check(await page.locator('#history .edit').count() === 1, 'history: one place to edit');
    check((await page.locator('#history .excerpt').last().textContent()).includes('newTag: 1.4.2'), 'history: the source line');
    await page.locator('#history .ev-head a').last().click();
    check((await page.textContent('.step-head')).includes('overlays/production'), 'history: an event leads to its step');
    await page.goBack();
    check((await page.textContent('.step-head')).includes('regions/europe'), 'link: back');
    await page.context().close();
  }

  // The time line says what is missed and what is removed, in words too; what krm quotes is code.
  {
    const page = await open('example.html');
    const signs = await page.locator('.bars i[data-sign]').evaluateAll((all) => all.map((bar) => `${bar.dataset.sign} ${bar.title}`));
    check(signs.join() === '✕ overlays/production#patches[2]: 1 resource, some removed,! overlays/production#patches[3]: 0 resources, with a warning', `time line: ${signs}`);
    const runs = await page.locator('.run b').allTextContents();
    check(runs.join() === 'base,tracing,europe,production,finish,Result', `time line: ${runs}`);
    const [bars, room] = await page.evaluate(() => ['.run:last-of-type', '.bars'].map((one) => document.querySelector(one).getBoundingClientRect().right));
    check(Math.abs(bars - room) < 2, 'time line: it does not use the room there is');
    check(await page.locator('.warned-box code').first().textContent() === 'wbe', 'a warning: what it quotes is not code');
    check(!(await page.textContent('.warned-box p')).includes('`'), 'a warning: backticks');
    // A found field is known by its path: many lines look the same.
    await page.fill('.find', 'app: web');
    const notes = await page.locator('.found span').allTextContents();
    check(notes.length > 1 && new Set(notes).size === notes.length, `found: ${notes}`);
    // Printed, there is everything and nothing to press.
    await page.fill('.find', '');
    await page.emulateMedia({ media: 'print' });
    for (const shown of ['#graph', '#resources', '#history']) check(await page.locator(shown).isVisible(), `print: ${shown} is not there`);
    for (const hidden of ['#strip', '#tools', '.tabs', '.bar']) check(!(await page.locator(hidden).first().isVisible()), `print: ${hidden}`);
    await page.context().close();
  }

  // A link to a line far down shows that line, although the heights above it are not known before they are painted.
  {
    const page = await open('example.html', { hash: '#resource=Deployment%2Fshop%2Fprod-web&field=spec.replicas' });
    const line = page.locator('.yaml [aria-selected="true"]').first();
    await page.waitForFunction((line) => { const { top, bottom } = line.getBoundingClientRect(); return top > 0 && bottom <= innerHeight; }, await line.elementHandle(), { timeout: 3000 })
      .catch(() => check(false, 'link: the line is out of sight'));
    await page.context().close();
  }

  // Without script it is the same in plain.
  {
    const page = await open('example.html', { ready: false, javaScriptEnabled: false });
    const text = await page.locator('body').textContent();
    for (const part of ['prod-settings-72c8d89976', 'What each step did', '+         image: eu.registry.example.com/shop/web:1.4.2', 'overlays/production/kustomization.yaml:9', 'removes HorizontalPodAutoscaler', 'Warnings']) {
      check(text.includes(part), `without script: ${part}`);
    }
    check(await page.locator('#step-5').isVisible(), 'without script: steps are there');
    await page.click('a[href="#step-5"]');
    await page.context().close();
    const phone = await open('example.html', { ready: false, javaScriptEnabled: false, width: 360, height: 740 });
    await fits(phone, 'without script, phone');
    await phone.context().close();
  }

  // Names that would like to be markup.
  {
    const page = await open('hostile.html');
    await page.locator('.yaml > div').nth(3).click();
    await page.fill('.find', 'script');
    check(await page.evaluate(() => typeof hacked) === 'undefined', 'hostile: it ran');
    const text = await page.evaluate(() => document.body.textContent);
    check(!/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/.test(text), 'hostile: bidi marks');
    check(text.includes('p-</script><img src=x onerror=hacked=1>'), 'hostile: the name is shown as it is');
    check(await page.locator('img').count() === 0, 'hostile: markup');
    await accessible(page, 'hostile');
    await page.context().close();
  }

  // A Secret that changed is known to have changed.
  {
    const page = await open('secret.html', { hash: '#step=secret%23patches%5B0%5D' });
    check((await page.locator('.yaml').innerText()).includes('•••'), 'secret: is masked');
    await page.context().close();
  }

  // Many.
  {
    const page = await open('many.html', { hash: `#resource=Service%2Fshop%2Fprod-app-999&field=spec.ports%5B0%5D.port` });
    check(/port$/.test(await title(page)), `many: a link: ${await title(page)}`);
    check(await page.locator('.yaml [aria-selected="true"]').first().isVisible(), 'many: the line is seen');
    await page.fill('.find', 'app-777');
    await page.keyboard.press('Enter');
    check((await page.textContent('#history')).includes('prod-app-777'), 'many: found');
    check(await page.evaluate(() => document.querySelectorAll('*').length) < 40000, 'many: not everything is drawn');
    // One kind of them; it stays while one looks at other steps, until something else is looked for.
    const kinds = () => page.evaluate(() => [...new Set([...document.querySelectorAll('.card .kind')].map((kind) => kind.textContent))].join());
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.selectOption('select', 'Deployment');
    check(await kinds() === 'Deployment', `many: one kind: ${await kinds()}`);
    await page.keyboard.press('[');
    check(await kinds() === 'Deployment', `many: one kind at another step: ${await kinds()}`);
    await page.goto(page.url().split('#')[0] + '#resource=Service%2Fshop%2Fprod-app-999');
    await page.waitForFunction(() => document.querySelector('#history').textContent.includes('prod-app-999'));
    check((await kinds()).includes('Service'), `many: what is looked for is shown: ${await kinds()}`);
    // A line that is longer than there is room for does not run into the place at its end.
    const covered = await page.evaluate(() => [...document.querySelectorAll('.yaml .w')].every((place) => getComputedStyle(place).backgroundColor !== 'rgba(0, 0, 0, 0)'));
    check(covered, 'many: places are transparent');
    await page.context().close();
  }

  await browser.close();
  for (const fault of faults) console.log(fault);
  process.exit(faults.length ? 1 : 0);
})().catch((error) => { console.log(faults.join('\n')); console.log(error.stack); process.exit(1); });
