/** What axe, which knows the rules of accessibility, finds on a page. */

import type { Page } from 'playwright-core';

const axe = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text();

/** What matters of what axe found; a frame's own document is its maker's. */
export async function findings(page: Page): Promise<string[]> {
  // A script tag is what the page's policy forbids; the protocol of the browser's tools is not the page.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe);
  return page.evaluate(`axe.run(document, { iframes: false, resultTypes: ['violations'] }).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 150))))`);
}
