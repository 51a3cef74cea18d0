/** What a list is filtered by, in words. */

import type { ListAsk } from '../ask.ts';
import { spoken } from '../filter-tree.ts';
import { allOf, type Condition, conditionsOf } from '../where.ts';
import { listLink } from './list-place.ts';
import { Icon } from './parts.tsx';

/** Each can be taken away. */
export function FilterChips({ ask }: { ask: ListAsk }) {
  if (!ask.where) return null;
  const conditions = conditionsOf(ask.where);
  const chips = conditions?.map((condition, at) => ({
    text: inWords(condition),
    link: listLink({ ...ask, where: allOf(conditions.toSpliced(at, 1)) }),
  })) ?? [{ text: JSON.stringify(ask.where), link: listLink({ ...ask, where: undefined }) }];
  return (
    <ul class="chips" aria-label="Filters">
      {chips.map(({ text, link }) => (
        <li key={text}>
          <span>{text}</span>
          <a href={link} aria-label={`Remove ${text}`}>
            <Icon name="close" />
          </a>
        </li>
      ))}
    </ul>
  );
}

function inWords({ path, operator, value }: Condition): string {
  const field = path.join('.');
  if (operator === 'isNull') return `${field} is ${value === false ? 'not null' : 'null'}`;
  return `${field} ${spoken[operator] ?? operator} ${Array.isArray(value) ? value.join(', ') : value}`;
}
