/** What axe, which knows the rules of accessibility, finds on a page. */

import type { Page } from 'playwright-core';

const axe = await Bun.file(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir)).text();

/** What matters of what axe found, by all of its rules or by these; a frame's own document is its maker's. */
export async function findings(page: Page, rules: readonly string[] = []): Promise<string[]> {
  // A script tag is what the page's policy forbids; the protocol of the browser's tools is not the page.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe);
  const only = rules.length === 0 ? '' : `runOnly: ${JSON.stringify(rules)}, `;
  return page.evaluate(`axe.run(document, { ${only}iframes: false, resultTypes: ['violations'] }).then(({ violations }) =>
    violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 150))))`);
}
