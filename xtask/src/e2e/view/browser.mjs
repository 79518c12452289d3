// Opens exported pages in a real browser: with and without the script, wide and narrow, light and dark. Axe must find no violation,
// the page must report no breach of its content policy, nothing may be asked of a network, and hostile texts must not run.
// The same holds for the pages of `rye view`, which other origins, other hosts and guessed addresses must not get.
// A thread that runs while its page is open appears there, is approved there, and goes on.
// Usage: node browser.mjs CHROMIUM FOLDER SCREENSHOTS ADDRESS RYE PROJECT HOME. FOLDER holds prepare.html and hostile.html; ADDRESS is the printed one, which works once.
import { readFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { spawn } from 'node:child_process';
import { get } from 'node:http';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const [executablePath, folder, screenshots, entrance, program, project, home] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const failures = [];
let checks = 0;
/** The pages that were seen to be quick. */
const quick = new Set();
const check = (what, holds, more = '') => {
  checks += 1;
  if (!holds) failures.push(`${what}: ${more}`);
};

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });

// The first browser at the printed address gets the cookie with which it decides, and comes to the list.
const { address, storageState } = await (async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(entrance);
  await page.waitForURL(/\/threads\/$/);
  const entered = { address: page.url(), storageState: await context.storageState() };
  await context.close();
  return entered;
})();

/** Opens a page and notes everything that it asks for, reports or throws. */
async function open(name, { width = 1440, height = 900, colorScheme = 'light', javaScriptEnabled = true, hash = '' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, javaScriptEnabled, reducedMotion: 'reduce', storageState });
  // A machine that builds at the same time is slow.
  context.setDefaultTimeout(120000);
  const page = await context.newPage();
  const noted = [];
  page.on('request', (request) => { if (!request.url().startsWith('file:') && !request.url().startsWith(new URL('/', address).href)) noted.push(`asks for ${request.url()}`); });
  page.on('console', (message) => noted.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => noted.push(`throws ${error.message}`));
  page.on('dialog', (dialog) => { noted.push(`asks ${dialog.message()}`); dialog.dismiss(); });
  await page.addInitScript(() => {
    window.breaches = [];
    addEventListener('securitypolicyviolation', (event) => window.breaches.push(event.violatedDirective + ' ' + event.blockedURI));
  });
  await page.goto(name.startsWith('http:') ? name : pathToFileURL(join(folder, name)).href + hash);
  return { page, noted, close: () => context.close() };
}

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** What reaches over the right edge. */
const wide = (page) => page.evaluate(() => [...document.querySelectorAll('body *')]
  .filter((it) => it.getBoundingClientRect().right > innerWidth + 1 && !it.closest('.scroll'))
  .slice(0, 3).map((it) => it.outerHTML.slice(0, 120)).join(' | '));

// Every page in every form.
const served = await (async () => {
  const { page, close } = await open(address);
  const links = await page.locator('.list td.d a').evaluateAll((all) => all.map((link) => link.href));
  await close();
  return links;
})();
check('the list has all threads', served.length === 9, `${served.length}`);
const long = served.find((link) => link.includes('/long-'));
const hostile = served.find((link) => link.includes('/hostile-'));
const prepared = served.find((link) => link.includes('/prepare-'));
const earlier = served.filter((link) => link.includes('/prepare-')).pop();
const idOf = (link) => link.split('/').pop();
const comparison = new URL(`../compare/?a=${idOf(earlier)}&b=${idOf(prepared)}`, address).href;
const unlike = new URL(`../compare/?a=${idOf(prepared)}&b=${idOf(hostile)}`, address).href;
const authorityOf = (link) => new URL(`../authority/${idOf(link)}`, address).href;
const tokens = `${address}?sort=tokens-in&plot=tokens`;
const withoutConversation = [address, tokens, comparison, unlike, authorityOf(prepared), authorityOf(hostile)];
for (const name of ['prepare.html', 'hostile.html', 'endless.html', prepared, long, ...withoutConversation]) {
  for (const width of [1440, 1000, 320]) {
    for (const colorScheme of ['light', 'dark']) {
      const label = `${name} at ${width} px, ${colorScheme}`;
      const { page, noted, close } = await open(name, { width, colorScheme });
      check(`${label} asks for nothing and reports nothing`, noted.length === 0, noted.join('; '));
      check(`${label} breaks no policy`, (await page.evaluate(() => window.breaches.length)) === 0);
      check(`${label} does not scroll sideways`, (await overflow(page)) <= 0, `${await overflow(page)} px: ${await wide(page)}`);
      check(`${label} ran nothing of the thread`, await page.evaluate(() => window.hacked === undefined && !document.querySelector('main img, main script, main iframe')));
      // The policy keeps injected scripts out, so axe comes through the debugger.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
      check(`${label} is accessible`, violations.length === 0,
        violations.map((it) => `${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`).join('; '));
      await close();
    }
  }
  if (withoutConversation.includes(name)) continue;
  const { page, close } = await open(name, { javaScriptEnabled: false, width: 320 });
  check(`${name} has its conversation without the script`, (await page.locator('.conv .rec').count()) > 3);
  const isServed = name.startsWith('http:');
  check(`${name} shows the search without the script only where a server searches`, (await page.locator('#find').isVisible()) === isServed);
  await page.locator('.conv .rec .no').first().click();
  check(`${name} shows the panel of a record without the script`, await page.locator('.panel .one:target').isVisible());
  await close();
}

// Deep links, search and keys.
{
  const { page, noted, close } = await open('prepare.html', { hash: '#r8' });
  check('a deep link marks its record', await page.locator('#r8.sel').isVisible());
  await page.keyboard.press('/');
  await page.keyboard.type('ledger::case_7 ');
  // The search follows the typing.
  await page.waitForFunction(() => document.querySelector('#found').textContent === '1 record found').catch(() => {});
  check('the search counts what it finds', (await page.locator('#found').textContent()) === '1 record found', await page.locator('#found').textContent());
  check('the search hides the rest', (await page.locator('.conv .rec:visible').count()) === 1);
  await page.locator('#find').fill('');
  await page.waitForFunction(() => !document.querySelector('.conv .rec[hidden]'));
  await page.locator('body').click({ position: { x: 2, y: 200 } });
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute('aria-label'));
  await page.keyboard.press('e');
  check('e goes to an error', (await page.evaluate(() => document.activeElement.className)).includes('bad'), await focused());
  await page.keyboard.press('t');
  const first = await focused();
  await page.keyboard.press('ArrowRight');
  check('arrows move between spans', (await focused()) !== first, first);
  await page.keyboard.press('n');
  await page.locator('label', { hasText: 'Money' }).click();
  check('the timeline is coloured by money', await page.locator('.lg-m').isVisible());
  check('keys report nothing', noted.length === 0, noted.join('; '));
  await page.emulateMedia({ media: 'print' });
  check('print leaves the panel out', !(await page.locator('.panel').isVisible()));
  await close();
}

// Pages of hostile texts and of a line of 20 MB stay quick: no task of the browser is longer than 100 ms after they are loaded,
// while everything is unfolded and they scroll. Another program may take the processor meanwhile, so the best of three tries counts.
for (const [name, tries] of ['hostile.html', 'endless.html'].flatMap((name) => [[name, 1], [name, 2], [name, 3]])) {
  if (quick.has(name)) continue;
  const { page, close } = await open(name);
  await page.evaluate(() => {
    window.long = [];
    new PerformanceObserver((list) => window.long.push(...list.getEntries().map((it) => it.duration))).observe({ type: 'longtask' });
  });
  await page.evaluate(() => { for (const details of document.querySelectorAll('.conv details')) details.open = true; });
  await page.mouse.wheel(0, 20_000);
  await page.waitForTimeout(300);
  const long = await page.evaluate(() => window.long.filter((duration) => duration > 100));
  if (long.length === 0) quick.add(name);
  if (long.length === 0 || tries === 3) check(`nothing in ${name} takes longer than 100 ms`, long.length === 0, long.join(', '));
  await close();
}

// The list and its plots follow the address, without the script, too.
{
  const { page, close } = await open(address, { javaScriptEnabled: false });
  const first = () => page.locator('.list tbody tr').first().locator('td.d a').first().textContent();
  await page.locator('.list th a', { hasText: 'Turns' }).click();
  await page.waitForURL(/sort=turns$/);
  check('the list is sorted by its address', (await first()) === 'release/long', await first());
  await page.locator('.spend nav a', { hasText: 'Tokens' }).click();
  await page.waitForURL(/plot=tokens$/);
  const plot = await page.locator('svg.plot').getAttribute('aria-label');
  check('the plot shows tokens', plot.startsWith('Tokens per day') && page.url().includes('sort=turns'), plot);
  await page.goto(address);
  await page.locator('.list tr', { has: page.locator(`a[href$="${idOf(prepared)}"]`) }).locator('a', { hasText: 'compare' }).first().click();
  check('a row leads to the comparison with the thread before', page.url() === comparison, page.url());
  const rows = await page.locator('table.al').first().textContent();
  check('the comparison has calls that differ', rows.includes('release/api-diff') && (await page.locator('.al .ne').count()) > 0);
  await page.goto(authorityOf(prepared));
  const sections = await page.locator('.spec section').allTextContents();
  const named = sections.filter((text) => text.includes('deploy.staging')).map((text) => text.split(' ')[0]);
  check('the authority page shows a refused call as refused', named.join() === 'Refused', named.join());
  await close();
}

// A long thread is shown in parts; the address leads to the part that holds a record, with and without the script.
{
  const last = async (page) => Number((await page.locator('.panel .one').last().getAttribute('id')).slice(1));
  const { page, noted, close } = await open(long);
  const counted = Number((await page.locator('#found').textContent()).replace(/[^0-9]/g, ''));
  check('the thread is long', counted > 2000, `${counted}`);
  check('a part holds some records', (await page.locator('.panel .one').count()) < 600);
  await page.goto(`${long}#r1200`);
  await page.waitForURL(/record=1200#r1200$/);
  if (screenshots) { mkdirSync(screenshots, { recursive: true }); await page.screenshot({ path: join(screenshots, 'view-long-light.png') }); }
  check('a link to a record leads to its part', await page.locator('#p1200').count() === 1 && await last(page) < counted - 1);
  await page.locator('#find').fill('CHANGELOG.md');
  await page.waitForFunction(() => document.querySelector('#found').textContent.includes('on this page'));
  check('the search says that it saw one part', (await page.locator('#found').textContent()).startsWith('0 records found on this page'));
  await page.keyboard.press('Enter');
  await page.waitForURL(/find=CHANGELOG.md$/);
  check('the server searches all parts', (await page.locator('.conv .rec').count()) === 1, await page.locator('#parts').textContent());
  check('a long thread reports nothing', noted.length === 0, noted.join('; '));
  await close();
  const without = await open(long, { javaScriptEnabled: false });
  await without.page.locator('#find').fill('changelog.MD');
  await without.page.locator('#find').press('Enter');
  await without.page.waitForURL(/find=changelog/);
  check('the server searches without the script', (await without.page.locator('.conv .rec').count()) === 1, without.page.url());
  await without.page.locator('a', { hasText: 'Whole conversation' }).first().click();
  await without.page.waitForURL(/\?$/);
  for (let parts = 1; await without.page.locator('a[rel=next]').count(); parts += 1) {
    check('there is an end', parts < 10);
    const here = without.page.url();
    await without.page.locator('a[rel=next]').last().click();
    await without.page.waitForURL((url) => url.href !== here);
  }
  check('the parts lead to the last record', (await last(without.page)) === counted - 1, without.page.url());
  await without.close();
}

// The server without the script: filters, links between threads, and what it refuses.
{
  const { page, close } = await open(address, { javaScriptEnabled: false });
  await page.locator('[name=q]').fill('hostile');
  await page.locator('button', { hasText: 'Filter' }).click();
  check('a filter in the address shows what passes it', (await page.locator('.list tbody tr').count()) === 1 && page.url().includes('q=hostile'), page.url());
  await page.goto(address);
  await page.locator('.list td.d a', { hasText: 'release/prepare' }).first().click();
  await page.locator('.rec p a', { hasText: 'release/notes' }).click();
  const child = page.url();
  await page.goto(prepared);
  await page.locator('a', { hasText: 'Compare' }).last().click();
  check('a thread leads to its comparison', (await page.locator('select[name=a]').inputValue()) === idOf(prepared), page.url());
  await page.locator('select[name=b]').selectOption({ index: 0 });
  await page.locator('.cform button').click();
  check('two threads are compared without the script', (await page.locator('.cmp tbody tr').count()) > 10 && (await page.locator('svg.cmpfl').count()) === 1, page.url());
  await page.goto(prepared);
  await page.locator('a', { hasText: 'Authority' }).click();
  check('a thread leads to its authority', (await page.locator('h1').textContent()).startsWith('Authority of '), page.url());
  await page.goto(child);
  check('a thread leads to its child', (await page.locator('h1').textContent()) === 'release/notes', page.url());
  await close();
  const status = (path, headers = {}, method = 'GET') => new Promise((done, failed) => {
    get(new URL(path, address), { headers, method }, (response) => { response.resume(); done(response.statusCode); }).on('error', failed);
  });
  check('the address is answered', (await status(address)) === 200);
  check('the printed address works once', (await status(entrance)) === 403);
  check('a foreign host is refused', (await status(address, { host: 'evil.test' })) === 403);
  check('a foreign origin is refused', (await status(address, { origin: 'http://evil.test' })) === 403);
  check('a change is refused', (await status(address, {}, 'POST')) === 403);
  for (const path of ['/', '/threads/', `/${'0'.repeat(32)}/threads/`]) check(`${path} is not found`, (await status(path)) === 404);
  const foreign = await browser.newPage();
  await foreign.goto('data:text/html,<p>another origin</p>');
  const got = await foreign.evaluate((url) => fetch(url).then((response) => response.text(), () => 'nothing'), address);
  check('a page of another origin gets nothing', got === 'nothing', got.slice(0, 80));
  await foreign.setContent(`<iframe src="${address}"></iframe>`);
  const inner = () => foreign.frames()[1]?.url() ?? '';
  for (let tries = 0; tries < 100 && ['', 'about:blank'].includes(inner()); tries += 1) await foreign.waitForTimeout(100);
  check('a page of another origin tried to frame it', !['', 'about:blank'].includes(inner()), inner());
  const framed = foreign.frames().some((frame) => frame.url().startsWith(new URL('/', address).href));
  check('a page of another origin cannot frame it', !framed);
  await foreign.close();
}

// A running thread: its records come without a reload, its call is approved on the page, and the rest comes, too.
{
  const rye = (...words) => new Promise((done) => {
    spawn(program, [...words, '--quiet', '--project', project, '--user-space', home], { stdio: 'ignore', cwd: project }).on('exit', done);
  });
  // The model waits with its third answer while this file is there, so that a page can be opened before the thread goes on.
  const hold = join(dirname(project), 'hold');
  /** Starts a thread that waits with its third request, and opens its page once it has two turns. */
  const begin = async (directive, known, ...words) => {
    writeFileSync(hold, '');
    let ended = false;
    const run = rye('run', directive, ...words, '--provider', 'scripted').finally(() => { ended = true; });
    const opened = await open(address);
    for (;;) {
      const links = opened.page.locator('.list td.d a', { hasText: directive });
      const link = (await links.evaluateAll((all) => all.map((it) => it.href))).find((it) => !known.includes(it));
      if (link) {
        await opened.page.goto(link);
        if (await opened.page.locator('#t2').count()) return { ...opened, run, link };
      }
      if (ended) throw new Error(`${directive} ended before its page was opened`);
      await opened.page.goto(address);
    }
  };
  const { page, noted, close, run, link: found } = await begin('release/prepare', served, '--input', 'version=2.5.0');
  const before = await page.locator('.conv .rec').count();
  rmSync(hold);
  await page.locator('form.decide').waitFor({ timeout: 120000 });
  check('records of a running thread come without a reload', (await page.locator('.conv .rec').count()) > before, `${before}`);
  check('the panel has their lines', (await page.locator('.panel .one').count()) > before);
  check('a thread that waits ends its run', (await run) === 4);
  // The last part of an update may still come.
  const isCounted = () => ['found', 'foot'].every((id) => document.getElementById(id).textContent.startsWith(`${document.querySelectorAll('.panel .one').length} records`));
  await page.waitForFunction(isCounted).catch(() => {});
  const lines = await page.locator('.panel .one').count();
  for (const told of ['#found', '#foot']) {
    check(`${told} counts the new records`, (await page.locator(told).textContent()).startsWith(`${lines} records`), await page.locator(told).textContent());
  }
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  check('the page of a call that waits is accessible', violations.length === 0,
    violations.map((it) => `${it.id}: ${it.nodes.slice(0, 2).map((node) => node.html.slice(0, 160)).join(' | ')}`).join('; '));
  if (screenshots) {
    mkdirSync(screenshots, { recursive: true });
    await page.locator('.bannerbar a').click();
    await page.waitForTimeout(500);
    await page.screenshot({ path: join(screenshots, 'view-approval-light.png') });
  }
  await page.locator('button', { hasText: 'Approve' }).click();
  await page.waitForURL(/\?record=[0-9]+#r[0-9]+$/);
  check('a call is approved on the page', (await page.locator('.conv').textContent()).includes('Approved by page'));
  const resumed = rye('resume', found.split('/').pop());
  await page.locator('#live', { hasText: 'The thread is completed' }).waitFor({ timeout: 120000 });
  check('a resumed thread goes on', (await resumed) === 0);
  check('the page of a running thread reports nothing', noted.length === 0, noted.join('; '));
  await close();

  // The same call is denied on the page of another thread, with a reason.
  const third = rye('run', 'release/prepare', '--input', 'version=2.6.0', '--provider', 'scripted');
  const denier = await open(address);
  check('a further thread waits', (await third) === 4);
  await denier.page.reload();
  const asking = denier.page.locator('.list tr', { hasText: 'Suspended' }).locator('td.d a', { hasText: 'release/prepare' });
  await asking.first().click();
  await denier.page.locator('form.decide [name=reason]').fill('The date is wrong.');
  await denier.page.locator('button', { hasText: 'Deny' }).click();
  await denier.page.waitForURL(/\?record=[0-9]+#r[0-9]+$/);
  const decided = await denier.page.locator('.conv').textContent();
  check('a call is denied on the page', decided.includes('Denied by page') && decided.includes('The date is wrong.'), decided.slice(-400));
  check('a page that denied reports nothing', denier.noted.length === 0, denier.noted.join('; '));
  await denier.close();

  // A long one: its page stays short, and what is new comes without a reload.
  const follower = await begin('release/long', [long]);
  rmSync(hold);
  await follower.page.locator('#live', { hasText: 'The thread is completed' }).waitFor({ timeout: 120000 });
  check('a long thread ends', (await follower.run) === 0);
  const shown = await follower.page.locator('.panel .one').count();
  check('the page of a long thread that runs stays short', shown > 100 && shown < 1300, `${shown}`);
  check('its turns stay as few', (await follower.page.locator('.conv section.turn').count()) < 300);
  const end = (await follower.page.locator('.conv section.turn').last().textContent()).replace(/\s+/g, ' ');
  check('its end came without a reload', end.includes('Completed after 501 turns'), end);
  check('the page of a long thread that runs reports nothing', follower.noted.length === 0, follower.noted.join('; '));
  await follower.close();
}

if (screenshots) {
  mkdirSync(screenshots, { recursive: true });
  const pages = [['thread', 'prepare.html'], ['threads', address], ['compare', comparison], ['authority', authorityOf(prepared)]];
  const forms = [['light', {}], ['dark', { colorScheme: 'dark' }], ['mobile', { width: 320, height: 720 }]];
  for (const [name, file, options] of pages.flatMap(([name, file]) => forms.map(([form, options]) => [`view-${name}-${form}.png`, file, options]))) {
    const { page, close } = await open(file, options);
    await page.screenshot({ path: join(screenshots, name) });
    await close();
  }
}
await browser.close();
for (const failure of failures) console.error(`FAILED ${failure}`);
console.log(`${checks - failures.length} of ${checks} checks of pages in a browser`);
process.exitCode = failures.length ? 1 : 0;
