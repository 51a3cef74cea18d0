/** The search box of a table: it searches while somebody types. The most relevant come first, until another order is chosen. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { go, leave, retell } from '../address.ts';
import type { ListAsk } from '../ask.ts';
import { RELEVANCE } from '../schema/types.ts';
import { listLink } from './list-place.ts';

/** Long enough not to ask for every letter of a word. */
const PAUSE_MS = 250;

export function Search({ ask }: { ask: ListAsk }) {
  const given = ask.search ?? ask.find ?? '';
  const words = useSignal(given);
  const searched = useRef(given);
  // Back, or a saved view, brings other words.
  useEffect(() => {
    if (given !== searched.current) words.value = given;
    searched.current = given;
  }, [given]);
  const search = () => {
    const wanted = words.value.trim();
    if (wanted === searched.current) return;
    const text = wanted || undefined;
    const others = ask.sort.filter((each) => each.replace(/^-/, '') !== RELEVANCE);
    const sort = wanted ? [RELEVANCE] : others;
    const next = ask.resource.searchable ? { search: text, sort } : { find: text };
    // One step back leads to the list as it was before the first letter.
    const follow = searched.current === '' ? go : retell;
    void leave(() => {
      searched.current = wanted;
      follow(listLink({ ...ask, ...next }));
    });
  };
  useEffect(() => {
    const timer = setTimeout(search, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [words.value]);
  return (
    <form
      class="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        type="search"
        aria-keyshortcuts="/"
        aria-label={`Search ${ask.resource.plural}`}
        placeholder={`Search ${ask.resource.plural}`}
        value={words.value}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown') return;
          event.preventDefault();
          document.querySelector<HTMLElement>('td')?.focus();
        }}
        onInput={(event) => {
          words.value = event.currentTarget.value;
        }}
      />
    </form>
  );
}
