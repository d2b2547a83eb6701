// What ci/report.sh checks in the browser, of every page in the folder that is its argument.
import { readdirSync } from 'node:fs';
import { chromium } from 'playwright-core';

const folder = process.argv[2];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
const problems = [];

for (const file of readdirSync(folder).filter((name) => name.endsWith('.html'))) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [400, 1280]) {
      const page = await browser.newPage({ colorScheme, viewport: { width, height: 900 } });
      const where = `${file}, ${width} pixels, ${colorScheme}`;
      const check = (holds, what) => holds || problems.push(`${where}: ${what}`);
      page.on('console', (message) => check(message.type() !== 'error', message.text()));
      page.on('pageerror', (error) => check(false, String(error)));
      page.on('request', (request) => check(request.url().startsWith('file:'), request.url()));
      await page.goto(`file://${folder}/${file}`);
      const seen = await page.evaluate(inspect);
      for (const problem of seen.problems) check(false, problem);
      check(seen.plots > 0, 'no plots');
      check(seen.scroll <= seen.width, `${seen.scroll} pixels wide`);
      await page.keyboard.press('Tab');
      check(await page.evaluate(() => document.activeElement.className) === 'skip', 'Tab does not lead to the skip link first');
      await page.keyboard.press('Enter');
      check(await page.evaluate(() => document.activeElement.id) === 'main', 'the skip link does not lead to the results');
      await page.goto(`file://${folder}/${file}`);
      const picture = `${folder}/${file.replace('.html', '')}-${width}-${colorScheme}.png`;
      await page.screenshot({ path: picture, fullPage: true });
      console.log(`${where}: ${seen.plots} plots, ${seen.tables} tables`);
      await page.close();
    }
  }
}
await browser.close();
for (const problem of problems) console.error(problem);
process.exit(problems.length ? 1 : 0);

/** Runs in the page. */
function inspect() {
  const problems = [];
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const plots = all('svg.plot');
  for (const plot of plots) {
    const name = plot.querySelector('title')?.textContent;
    const count = Number(plot.querySelector('desc')?.textContent.split(' ')[0]);
    const marks = all('.bar, polyline', plot);
    if (!name || marks.length !== count) problems.push(`${name}: ${marks.length} marks, and its description says ${count}`);
    const box = plot.getBoundingClientRect();
    for (const text of all('text', plot)) {
      const { left, right, height } = text.getBoundingClientRect();
      if (left < box.left - 1 || right > box.right + 1) problems.push(`${name}: ${text.textContent} leaves the plot`);
      if (height < 9) problems.push(`${name}: ${text.textContent} is ${height} pixels high`);
    }
  }
  let level = 0;
  for (const heading of all('h1, h2, h3, h4')) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) problems.push(`a heading of level ${next} behind one of ${level}: ${heading.textContent}`);
    level = next;
  }
  const ids = all('[id]').map((element) => element.id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice) problems.push(`the id ${twice} stands twice`);
  for (const attribute of ['aria-labelledby', 'aria-describedby']) {
    for (const element of all(`[${attribute}]`)) {
      const id = element.getAttribute(attribute);
      if (!document.getElementById(id)) problems.push(`${attribute} names ${id}, which is not there`);
    }
  }
  for (const link of all('a[href^="#"]')) {
    if (!document.getElementById(decodeURIComponent(link.hash.slice(1)))) problems.push(`${link.hash} leads nowhere`);
  }
  for (const table of all('table')) {
    if (!table.caption || all('th:not([scope])', table).length) problems.push('a table without caption, or a heading without scope');
  }
  for (const cell of all('th, td').filter((cell) => cell.checkVisibility())) {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const [inside, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
    if (inside.left < box.left - 1 || inside.right > box.right + 1) problems.push(`a cell is too small for ${cell.textContent}`);
  }
  for (const box of all('.scroll')) if (box.tabIndex < 0) problems.push('a table that the keyboard does not scroll');
  const root = document.documentElement;
  return { problems, plots: plots.length, tables: all('table').length, scroll: root.scrollWidth, width: root.clientWidth };
}
